-- order: 120
-- title: state of keys that the history does not have
-- severity: warning
-- claim: A hash under the key template belongs to a key of the history, aborted records and earlier incarnations of the
--   topic included.
-- unverifiable: history-incomplete, indexing began above offset 0, or records may be gone from compacted, trimmed or
--   unknown gaps; earlier-incarnation, the topic was deleted and created again, and its end then was perhaps never
--   indexed; not-replayed, a partition could not be read to its end; unstable, the fence stands between the last stable
--   offset and the high watermark; redis-key-unreadable, the Redis key is under the template, and no record key gives
--   it; shared-redis-key, record keys of several schema ids share it.
-- remedy: Nothing of this topic will ever touch the hash. Find out whether another writer owns it, or a topic that is
--   gone; if nobody does, delete it.
SELECT pipeline, reason, n FROM fence_subject WHERE name = 'fence-orphan' ORDER BY pipeline, reason;

SELECT pipeline, topic, fence_partition AS partition, fence_offset AS offset, key, redis_key, NULL AS identity,
	printf('%s has a hash with a fence at %d in partition %d, and no record anywhere in the history of %s.',
		the_key(key), fence_offset,
		fence_partition, topic) AS detail,
	json_object('fence', json_object('partition', fence_partition, 'offset', fence_offset), 'home', home, 'ttl_ms',
		ttl_ms) AS evidence
FROM fence_case
WHERE fault = 'fence-orphan'
ORDER BY topic, fence_partition, fence_offset, hash, key;

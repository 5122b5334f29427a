-- order: 180
-- title: fences on aborted records
-- severity: error
-- claim: The record at the partition and offset of a fence was committed, where the pipeline reads committed records
--   only.
-- unverifiable: gap, there is no record at the offset; not-indexed, the offset lies below where indexing began;
--   unstable, it lies between the last stable offset and the high watermark; not-replayed, the partition could not be
--   read to its end.
-- remedy: A worker read uncommitted records: set its isolation.level to read_committed, and replay the key's records
--   into an empty hash.
SELECT pipeline, reason, n FROM fence_subject WHERE name = 'fence-aborted' ORDER BY pipeline, reason;

SELECT pipeline, topic, fence_partition AS partition, fence_offset AS offset, key, redis_key, NULL AS identity,
	printf('The fence %s stands at %d in partition %d, a record that was aborted.', of_key(key),
		fence_offset, fence_partition) AS detail,
	json_object('fence', json_object('partition', fence_partition, 'offset', fence_offset), 'time', fence_at,
		'time_ms', fence_ms,
		'home', home, 'expected_offset', home_offset) AS evidence
FROM fence_case
WHERE fault = 'fence-aborted'
ORDER BY topic, fence_partition, fence_offset, hash, key;

-- order: 160
-- title: deleted keys whose state still stands
-- severity: error
-- claim: Where tombstones delete, a key whose newest record at home below the horizon's end is a tombstone has no hash,
--   or one with a fence above it.
-- unverifiable: no-commit, commit-unknown, not-yet-old, nothing says how far the pipeline had come in the partition;
--   not-replayed, the partition could not be read to its end; no-home, the key has no home by the partitioner; partitions-unknown, the partition count could not be
--   read; resized, the fence stands in an older legal partition; replica-behind, a replica was sampled that had not
--   caught up; rejects-silent, the tombstone may have been rejected; dlq-incomplete, dlq-unnamed, the DLQ does not tell
--   all the records that were rejected.
-- remedy: Stop the workers of the partition and delete the hash: a delete was lost, or a replay from an older offset
--   brought the key back.
SELECT pipeline, reason, n FROM fence_subject WHERE name = 'fence-undeleted' ORDER BY pipeline, reason;

SELECT pipeline, topic, home AS partition, home_tombstone AS offset, key, redis_key,
	fence_partition || '/' || fence_offset AS identity,
	printf('%s was deleted by the tombstone at %d in partition %d, and has a hash with a fence at %d.',
		the_key(key), home_tombstone, home,
		fence_offset) AS detail,
	json_object('fence', json_object('partition', fence_partition, 'offset', fence_offset),
		'tombstone', json_object('partition', home, 'offset', home_tombstone), 'newest_record', home_offset,
		'recheckable', json(iif(home_tombstone >= home_log_start, 'true', 'false'))) AS evidence
FROM fence_case
WHERE fault = 'fence-undeleted'
ORDER BY topic, home, home_tombstone, hash, key;

-- order: 200
-- title: states that differ from the record at their fence
-- severity: error
-- claim: Where the state is the last value, the value stored beside a fence is the value of the record at the fence.
-- unverifiable: fence-not-in-history, the record at the fence is not in the history; tombstone-at-fence, it is a
--   tombstone.
-- remedy: Something wrote the value without the fence, or the fence without the value. Stop the workers of the
--   partition, and set both from the newest record of the key.
SELECT pipeline, reason, n FROM fence_subject WHERE name = 'fence-value' ORDER BY pipeline, reason;

SELECT pipeline, topic, fence_partition AS partition, fence_offset AS offset, key, redis_key, NULL AS identity,
	CASE
	WHEN stored_hash IS NULL THEN printf('The hash %s has no value beside its fence at %d in partition %d.',
		of_key(key), fence_offset,
		fence_partition)
	ELSE printf('The value %s is not that of the record at its fence, %d in partition %d.', of_key(key),
		fence_offset, fence_partition)
	END AS detail,
	json_object('fence', json_object('partition', fence_partition, 'offset', fence_offset), 'stored_xxh3',
		stored_hash, 'record_xxh3', value_hash,
		'time', fence_at, 'time_ms', fence_ms) AS evidence
FROM fence_case
WHERE fault = 'fence-value'
ORDER BY topic, fence_partition, fence_offset, hash, key;

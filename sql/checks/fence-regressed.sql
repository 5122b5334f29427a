-- order: 150
-- title: fences that moved backwards
-- severity: error
-- claim: The fence of a key with binding records at home stands at home, at or above the newest of them; without any,
--   and with some in an older legal partition, it does not stand below the newest there.
-- unverifiable: not-looked-at, sampling was cut short before the key; no-commit, commit-unknown, not-yet-old, nothing
--   says how far the pipeline had come in the partition; not-replayed, the partition could not be read to its end;
--   partitions-unknown, the partition count could not be read; no-home, the key has no home by the
--   partitioner; resized, a worker may have sent the records to the DLQ,
--   or may have rebased the key, while partitions were added; replica-behind, a replica was sampled that had not caught
--   up; rejects-silent, the one record above the fence may have been rejected; dlq-incomplete, dlq-unnamed, the DLQ
--   does not tell all the records that were rejected.
-- remedy: Redis lost writes that the pipeline had committed. Stop the workers of the partition, and replay the key's
--   records from the first lost one; the fence lets through exactly those.
SELECT pipeline, reason, n FROM fence_subject WHERE name = 'fence-regressed' ORDER BY pipeline, reason;

WITH lost AS (
	SELECT *,
		iif(home_offset IS NULL, older, home) AS expected_partition,
		coalesce(home_offset, older_offset) AS expected_offset,
		iif(home_offset IS NULL, older_at, home_at) AS last_at,
		iif(home_offset IS NULL, older_ms, home_ms) AS last_ms,
		iif(home_offset IS NULL, older_lost, home_lost) AS lost,
		iif(home_offset IS NULL, older_lost_first, home_lost_first) AS first,
		iif(home_offset IS NULL, older_lost_first_at, home_lost_first_at) AS first_at,
		iif(home_offset IS NULL, older_lost_first_ms, home_lost_first_ms) AS first_ms,
		iif(home_offset IS NULL, older_log_start, home_log_start) AS log_start
	FROM fence_case
	WHERE fault = 'fence-regressed')
SELECT pipeline, topic, expected_partition AS partition, expected_offset AS offset, key, redis_key,
	fence_partition || '/' || fence_offset AS identity,
	printf('The fence %s stands at %d in partition %d, and must be at or above %d in partition %d: '
		|| '%d %s lost.', of_key(key), fence_offset, fence_partition, expected_offset, expected_partition,
		lost, iif(lost = 1, 'record is', 'records are')) AS detail,
	json_object('kind', iif(fence_partition = expected_partition, 'offset', 'partition'),
		'fence', json_object('partition', fence_partition, 'offset', fence_offset),
		'expected', json_object('partition', expected_partition, 'offset', expected_offset),
		'lost', lost,
		'first_lost', json_object('offset', first, 'time', first_at, 'time_ms', first_ms),
		'last_lost', json_object('offset', expected_offset, 'time', last_at, 'time_ms', last_ms),
		'recheckable', json(iif(first >= log_start, 'true', 'false'))) AS evidence
FROM lost
ORDER BY topic, partition, offset, hash, key;

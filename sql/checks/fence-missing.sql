-- order: 140
-- title: keys whose state is gone
-- severity: error
-- claim: A key with a binding record has a hash in Redis, unless a tombstone or a configured expiry explains that it
--   has none.
-- unverifiable: not-looked-at, sampling was cut short before the key; no-commit, commit-unknown, not-yet-old, nothing
--   says how far the pipeline had come in the partition; not-replayed, the partition could not be read to its end;
--   partitions-unknown, the partition count could not be read; no-home, the key has no home by the
--   partitioner; resized, a worker may have sent the records to the DLQ
--   when partitions were added, or a tombstone in an older partition may have deleted the key; expired, the key was due
--   to expire; gap, a tombstone may be gone from the history; tail-unread, a tombstone may have come after the history
--   was read; replica-behind, a replica was sampled that had not caught up; rejects-silent, the one record may have
--   been rejected; dlq-incomplete, dlq-unnamed, the DLQ does not tell all the records that were rejected.
-- remedy: Stop the workers of the partition and replay the key's records from the first lost one; then its state is
--   whole again.
SELECT pipeline, reason, n FROM fence_subject WHERE name = 'fence-missing' ORDER BY pipeline, reason;

SELECT pipeline, topic, coalesce(iif(home_offset IS NULL, older, home), home) AS partition,
	coalesce(home_offset, older_offset) AS offset,
	key, redis_key, NULL AS identity,
	printf('%s has no hash, and its record at %d in partition %d was applied before %s.', the_key(key),
		coalesce(home_offset, older_offset), iif(home_offset IS NULL, older, home), sampled_at) AS detail,
	json_object('expected', json_object('partition', iif(home_offset IS NULL, older, home), 'offset',
		coalesce(home_offset, older_offset)),
		'lost', iif(home_offset IS NULL, older_lost, home_lost),
		'first_lost', json_object('offset', iif(home_offset IS NULL, older_lost_first, home_lost_first),
			'time', iif(home_offset IS NULL, older_lost_first_at, home_lost_first_at),
			'time_ms', iif(home_offset IS NULL, older_lost_first_ms, home_lost_first_ms)),
		'last_lost', json_object('offset', coalesce(home_offset, older_offset), 'time',
			iif(home_offset IS NULL, older_at, home_at),
			'time_ms', iif(home_offset IS NULL, older_ms, home_ms)),
		'recheckable', json(iif(iif(home_offset IS NULL, older_lost_first >= older_log_start,
			home_lost_first >= home_log_start),
			'true', 'false'))) AS evidence
FROM fence_case
WHERE fault = 'fence-missing'
ORDER BY topic, partition, offset, hash, key;

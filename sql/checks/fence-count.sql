-- order: 210
-- title: counts and sums that differ from the history
-- severity: error
-- claim: Where the state is a count or a sum, the stored number is that of the records up to the fence, since the last
--   delete of the key.
-- unverifiable: ttl, the key may have expired and begun anew; history-incomplete, the history does not begin where the
--   pipeline did, or records may be gone from it; rebased, the key has records in several legal partitions; no-number,
--   a record has no integer value, or their sum is no int64; fence-not-in-history, the record at the fence is not in
--   the history; tombstone-at-fence, it is a tombstone that deletes; rejects-silent, records may have been rejected;
--   dlq-incomplete, dlq-unnamed, the DLQ does not tell all that were; above-commit, the fence stands above the commit,
--   and records below it may be on their way to the DLQ; deleted-above, a delete of the key lies above the fence, and
--   the records before it may be read again, which counts from zero; tail-unread, such a delete may have come after the
--   history was read; rejected, the difference may be records that the DLQ names and that were applied all the same;
--   not-replayed, a partition could not be read to its end.
-- remedy: More than the history is a record applied twice, less a lost update. Stop the workers of the partition, set
--   the number to the expected one, and find out which writes go around the script.
SELECT pipeline, reason, n FROM fence_subject WHERE name = 'fence-count' ORDER BY pipeline, reason;

WITH counted AS (
	SELECT *, iif(state = 'sum', applied_sum, applied) AS expected
	FROM fence_case
	WHERE fault = 'fence-count')
SELECT pipeline, topic, fence_partition AS partition, fence_offset AS offset, key, redis_key, NULL AS identity,
	CASE
	WHEN stored_number IS NULL THEN printf('The stored %s %s is no integer; the records up to its fence, '
		|| '%d in partition %d, give %d.', state, of_key(key), fence_offset, fence_partition, expected)
	ELSE printf('The %s %s is %d, and the records up to its fence, %d in partition %d, give %d: %s.',
		state, of_key(key), stored_number, fence_offset, fence_partition, expected,
		iif(stored_number > expected, 'more was applied than was written', 'updates were lost'))
	END AS detail,
	json_object('state', state, 'stored', stored_number, 'stored_text', key_text(value_raw), 'expected', expected,
		'fence', json_object('partition', fence_partition, 'offset', fence_offset),
		'records', applied) AS evidence
FROM counted
ORDER BY topic, fence_partition, fence_offset, hash, key;

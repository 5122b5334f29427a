-- order: 230
-- title: fences that expire before their records do
-- severity: warning
-- claim: A fence with a time to live outlives the retention of the key's newest record and the lag of the group, so
--   that no record can be delivered again after it is gone.
-- unverifiable: retention-infinite, records are kept for ever, so no time to live is long enough and none is judged;
--   retention-unknown, the topic's configuration could not be read; no-history, the key has no record in a legal
--   partition.
-- remedy: Give the hashes a time to live longer than the topic's retention plus the longest lag, or none; a field's own
--   time to live counts too.
SELECT pipeline, reason, n FROM fence_subject WHERE name = 'fence-expiring' ORDER BY pipeline, reason;

WITH ending AS (
	SELECT *, CASE WHEN ttl_ms >= 0 AND field_ttl_ms >= 0 THEN min(ttl_ms, field_ttl_ms) WHEN ttl_ms >= 0
		THEN ttl_ms ELSE field_ttl_ms END AS ttl
	FROM fence_case
	WHERE expiring = 'fault')
SELECT pipeline, topic, fence_partition AS partition, fence_offset AS offset, key, redis_key, NULL AS identity,
	printf('The fence %s expires at %s; its newest record, of %s, can be delivered again until %s.',
		of_key(key),
		strftime('%Y-%m-%dT%H:%M:%fZ', (sampled_us / 1000 + ttl) / 1000.0, 'unixepoch'), newest_at,
		strftime('%Y-%m-%dT%H:%M:%fZ', (newest_ms + retention_ms + lag_ms) / 1000.0, 'unixepoch')) AS detail,
	json_object('ttl_ms', ttl_ms, 'field_ttl_ms', field_ttl_ms, 'sampled', sampled_at, 'newest_record', newest_at,
		'newest_record_ms', newest_ms,
		'retention_ms', retention_ms, 'lag_ms', lag_ms) AS evidence
FROM ending
ORDER BY topic, fence_partition, fence_offset, hash, key;

-- order: 110
-- title: fences that are no fences
-- severity: error
-- claim: What stands in Redis under the key of a record is a hash whose partition and offset are canonical non-negative
--   integers.
-- unverifiable: not-looked-at, sampling was cut short before the key.
-- remedy: Find who writes this key besides the worker. Stop the workers of the partition, then set partition and offset
--   to those of the last record that the state contains, or delete the hash and replay the key's records.
SELECT pipeline, reason, n FROM fence_subject WHERE name = 'fence-malformed' ORDER BY pipeline, reason;

SELECT pipeline, topic, home AS partition, NULL AS offset, key, redis_key, coalesce(type, malformed) AS identity,
	CASE
	WHEN type IS NOT NULL THEN printf('%s has a %s in Redis where a hash with its fence should be.',
		the_key(key), type)
	ELSE printf('The fence %s cannot be read: %s.', of_key(key), malformed)
	END AS detail,
	json_object('type', coalesce(type, 'hash'), 'malformed', malformed, 'partition', fence_partition, 'offset',
		fence_offset,
		'partition_text', key_text(partition_raw), 'partition_hex', key_hex(partition_raw),
		'offset_text', key_text(offset_raw), 'offset_hex', key_hex(offset_raw), 'expected_offset',
			home_offset) AS evidence
FROM fence_case
WHERE fault = 'fence-malformed'
ORDER BY topic, home, hash, key;

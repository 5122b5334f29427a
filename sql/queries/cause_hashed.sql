-- The same of a topic without samples, whose keys are all in key_state: those with the smallest hashes.
WITH total (keys) AS (SELECT max(sum(keys), 4000) FROM placement WHERE topic_id = ?1)
SELECT DISTINCT key
FROM key_state
WHERE topic_id = ?1 AND partition IN (SELECT partition FROM partition_state WHERE topic_id = ?1)
	AND hash < (SELECT 9223372036854775807 / keys * 4000 FROM total)
ORDER BY hash, key

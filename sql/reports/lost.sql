-- Records that a key's fence does not cover though they were committed, by the partition they stand in. first and last are
-- offsets; times are record times.
SELECT topic, partition, sum(json_extract(evidence, '$.lost')) AS records,
	min(json_extract(evidence, '$.first_lost.offset')) AS first,
	max(json_extract(evidence, '$.last_lost.offset')) AS last,
	min(json_extract(evidence, '$.first_lost.time_ms')) AS first_ms,
	max(json_extract(evidence, '$.last_lost.time_ms')) AS last_ms
FROM finding
WHERE run_id = :run AND pipeline = :pipeline AND name IN ('fence-missing', 'fence-regressed') AND json_valid(evidence)
GROUP BY topic, partition
ORDER BY topic, partition

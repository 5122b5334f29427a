-- Records that a key's fence does not cover though they were committed, by the partition they stand in. first and last are offsets, times are record times.
SELECT partition, sum(json_extract(evidence, '$.lost')) AS records, min(json_extract(evidence, '$.lost_first')) AS first,
	max(json_extract(evidence, '$.lost_last')) AS last, min(json_extract(evidence, '$.lost_first_ms')) AS first_ms,
	max(json_extract(evidence, '$.lost_last_ms')) AS last_ms
FROM finding
WHERE run_id = :run AND pipeline = :pipeline AND name IN ('fence-missing', 'fence-regressed')
GROUP BY partition
ORDER BY partition

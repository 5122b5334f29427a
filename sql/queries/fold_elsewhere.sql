-- Where else records of a topic lie: its aborted ones, and all of its ended incarnations.
SELECT DISTINCT chunk.incarnation_id, chunk.partition, chunk.kind
FROM chunk
WHERE chunk.incarnation_id = ?1 AND chunk.kind = 1
UNION
SELECT DISTINCT chunk.incarnation_id, chunk.partition, chunk.kind
FROM incarnation AS now
JOIN incarnation AS ended ON ended.cluster = now.cluster AND ended.topic = now.topic AND ended.ended_run IS NOT NULL
	AND ended.incarnation_id <> now.incarnation_id
JOIN chunk ON chunk.incarnation_id = ended.incarnation_id
WHERE now.incarnation_id = ?1
ORDER BY 1, 2, 3

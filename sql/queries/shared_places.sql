-- Where records of a topic lie, those of its ended incarnations included.
SELECT DISTINCT chunk.incarnation_id, chunk.partition, chunk.kind
FROM incarnation AS now
JOIN incarnation AS other ON other.cluster = now.cluster AND other.topic = now.topic
	AND (other.ended_run IS NOT NULL OR other.incarnation_id = now.incarnation_id)
JOIN chunk ON chunk.incarnation_id = other.incarnation_id
WHERE now.incarnation_id = ?1
ORDER BY 1, 2, 3

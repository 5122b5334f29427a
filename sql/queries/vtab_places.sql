-- The indexed partitions: of a topic (?1, NULL: all), incarnations [?2, ?3), partitions [?4, ?5).
SELECT i.incarnation_id, p.partition, i.topic
FROM incarnation AS i CROSS JOIN partition AS p ON p.incarnation_id = i.incarnation_id
WHERE (?1 IS NULL OR i.topic = ?1)
	AND i.incarnation_id >= ?2 AND i.incarnation_id < ?3
	AND p.partition >= ?4 AND p.partition < ?5
ORDER BY i.incarnation_id, p.partition;

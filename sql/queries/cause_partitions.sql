SELECT p.partition, p.off_home, p.off_home_first, p.off_home_first_ms, p.off_home_last, p.off_home_last_ms,
	p.legal_between, horizon.indexed_end
FROM partition_state AS p
LEFT JOIN horizon USING (topic_id, partition)
WHERE p.topic_id = ?1
ORDER BY p.partition

INSERT INTO off_home_key (topic_id, partition, hash, key, home, records, first_offset, last_offset, first_ms, last_ms,
	stale)
SELECT c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10
FROM bulk

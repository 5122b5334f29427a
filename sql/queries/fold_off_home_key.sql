-- The cause is guessed: most rows have the first one that is found, and cause_write corrects the others.
INSERT INTO off_home_key (topic_id, partition, hash, key, home, records, first_offset, last_offset, first_ms, last_ms,
	stale, cause)
SELECT c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, 0
FROM bulk

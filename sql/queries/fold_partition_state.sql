INSERT INTO partition_state (topic_id, partition, first_offset, records, aborted, holes, hole_end, complete,
	from_complete, waiting_ms,
	expired_records, expired_first, expired_last, expired_first_ms, expired_last_ms,
	homeless, off_home, off_home_first, off_home_first_ms, off_home_last, off_home_last_ms, legal_between)
SELECT c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19,
	c20, c21
FROM bulk

INSERT INTO partition_state (topic_id, partition, first_offset, records, aborted, holes, hole_end, complete, from_complete, waiting_ms,
	expired_records, expired_first, expired_last, expired_first_ms, expired_last_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)

INSERT INTO cause_partition (topic_id, cause, partition, keys, records, first_offset, first_ms, last_offset, last_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)

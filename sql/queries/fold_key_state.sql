INSERT INTO key_state (topic_id, partition, hash, key, legal, records, first_offset, last_offset, first_ms, last_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)

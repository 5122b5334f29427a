INSERT INTO chunk (incarnation_id, partition, kind, first_offset, end_offset, records, min_ms, max_ms, data)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);

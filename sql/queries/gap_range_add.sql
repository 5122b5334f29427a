INSERT INTO gap_range (incarnation_id, partition, start_offset, end_offset, class, run_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (incarnation_id, partition, start_offset, class) DO UPDATE SET end_offset = max(end_offset, excluded.end_offset);

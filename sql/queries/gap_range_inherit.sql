INSERT INTO gap_range (incarnation_id, partition, start_offset, end_offset, class, run_id)
SELECT ?2, partition, start_offset, min(end_offset, ?4), class, run_id FROM gap_range
WHERE incarnation_id = ?1 AND partition = ?3 AND start_offset < ?4;

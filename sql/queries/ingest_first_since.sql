-- The first chunk of a partition that holds a record written at or after a time; what follows it was appended later.
SELECT min(first_offset) FROM chunk WHERE incarnation_id = ?1 AND partition = ?2 AND max_ms >= ?3

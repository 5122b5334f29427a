-- The ranges of a partition (?1 incarnation, ?2 partition) whose class the chunks cannot tell, in rising order.
SELECT start_offset, end_offset, class = 'trimmed'
FROM gap_range
WHERE incarnation_id = ?1 AND partition = ?2
ORDER BY start_offset, class;

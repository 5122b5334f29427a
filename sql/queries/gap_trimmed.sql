-- What was trimmed before it could be read: no second look can tell more. Ranges may overlap.
SELECT start_offset, end_offset FROM gap_range
WHERE incarnation_id = ?1 AND partition = ?2 AND class = 'trimmed' AND end_offset > ?3
ORDER BY start_offset;

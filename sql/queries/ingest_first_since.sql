-- The first record of a partition written at or after a time; what follows it was appended later, whatever its time says.
WITH holds_it AS (
	SELECT min(first_offset) AS start_offset, end_offset
	FROM chunk
	WHERE incarnation_id = ?1 AND partition = ?2 AND max_ms >= ?3)
SELECT min(record.offset)
FROM holds_it
JOIN record ON record.incarnation = ?1 AND record.partition = ?2
	AND record.offset >= holds_it.start_offset AND record.offset < holds_it.end_offset
WHERE record.ts >= ?3

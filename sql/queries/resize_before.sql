-- The last chunks of a partition, below an offset, that hold a record from before a time.
SELECT first_offset, end_offset, max_ms
FROM chunk
WHERE incarnation_id = ?1 AND partition = ?2 AND kind = 0 AND first_offset < ?3 AND min_ms < ?4
ORDER BY first_offset DESC
LIMIT ?5

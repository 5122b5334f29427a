-- The first chunk of a partition below an offset.
SELECT first_offset, min_ms
FROM chunk
WHERE incarnation_id = ?1 AND partition = ?2 AND kind = 0 AND first_offset < ?3
ORDER BY first_offset
LIMIT 1

-- The first chunk of a place (?1 incarnation, ?2 partition, ?3 kind) with records in the offsets [?4, ?5) and the times [?6, ?7), where
-- the largest integer as ?7 is no end. Chunks of one place do not overlap: the last one that begins at or before ?4 may reach beyond it.
SELECT chunk_id, first_offset, end_offset, records, data
FROM chunk
WHERE incarnation_id = ?1 AND partition = ?2 AND kind = ?3
	AND first_offset >= ifnull((SELECT max(first_offset) FROM chunk
		WHERE incarnation_id = ?1 AND partition = ?2 AND kind = ?3 AND first_offset <= ?4), 0)
	AND first_offset < ?5
	AND end_offset > ?4
	AND max_ms >= ?6
	AND (min_ms < ?7 OR ?7 = 9223372036854775807)
ORDER BY first_offset
LIMIT 1;

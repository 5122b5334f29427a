-- How far the times of a topic's records fall from one chunk to a later one of the same partition, in milliseconds.
SELECT max(fall)
FROM (
	SELECT max(max_ms) OVER (PARTITION BY partition ORDER BY first_offset
		ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) - min_ms AS fall
	FROM chunk
	WHERE incarnation_id = ?1 AND kind = 0)

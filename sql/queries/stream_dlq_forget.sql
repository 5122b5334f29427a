DELETE FROM stream_dlq_entry WHERE stream_id IN (
	SELECT s.stream_id
	FROM stream_watch AS w JOIN stream AS s USING (watch_id)
	WHERE w.name = ?1 AND w.redis = ?2 AND w.run_id < ?3 AND s.role = 'dlq' AND EXISTS (SELECT 1
		FROM stream_watch AS w2 JOIN stream AS s2 USING (watch_id)
		WHERE w2.name = ?1 AND w2.redis = ?2 AND w2.run_id > w.run_id AND w2.run_id < ?3
			AND s2.role = 'dlq' AND s2.listed IS NOT NULL AND s2.trouble IS NULL)
)

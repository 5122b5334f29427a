DELETE FROM pending WHERE group_id IN (
	SELECT g.group_id
	FROM stream_watch AS w JOIN stream AS s USING (watch_id) JOIN stream_group AS g USING (stream_id)
	WHERE w.name = ?1 AND w.redis = ?2 AND w.run_id < ?3 AND (
		w.run_id < (SELECT max(run_id) FROM stream_watch
			WHERE name = ?1 AND redis = ?2 AND run_id < ?3 AND looked)
		OR EXISTS (SELECT 1
			FROM stream_watch AS w2 JOIN stream AS s2 USING (watch_id) JOIN stream_group AS g2 USING (stream_id)
			WHERE w2.name = ?1 AND w2.redis = ?2 AND w2.run_id > w.run_id AND w2.run_id < ?3
				AND s2.role = s.role AND s2.redis_key = s.redis_key AND g2.name = g.name
				AND g2.kept IS NOT NULL AND g2.trouble IS NULL))
)

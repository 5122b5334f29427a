-- Streams that the watch saw when it last could look, in earlier runs.
SELECT redis_key FROM (
	SELECT stream.redis_key, stream.present, max(stream.run_id)
	FROM stream_watch JOIN stream USING (watch_id)
	WHERE stream_watch.name = ?1 AND stream_watch.redis = ?2 AND stream.run_id < ?3 AND stream.role = 'source'
		AND (stream.trouble IS NULL OR stream.present = 0)
	GROUP BY stream.redis_key
)
WHERE present

-- How much of Redis was looked at, per source topic. keys: looks at one key each, absent ones included; a fold that had to halve the sample
-- lowers the thresholds, and what then lies outside was not looked at.
SELECT topic.topic, topic.history_keys, topic.redis_keys, topic.scan_complete AS "scan_complete?",
	topic.recent_from_ms * 1000 AS "recent_from@",
	(SELECT count(*) FROM fence
	WHERE fence.topic_id = topic.topic_id AND ((strata & 1 AND hash < main_threshold) OR (strata & 2 AND hash < recent_threshold)))
	+ (SELECT coalesce(sum(keys), 0) FROM sample_count AS kept WHERE kept.topic_id = topic.topic_id AND kept.strata > 0) AS keys
FROM pipeline
JOIN topic USING (pipeline_id)
WHERE pipeline.run_id = :run AND pipeline.name = :pipeline AND topic.role = 'source' AND pipeline.redis IS NOT NULL
ORDER BY topic.topic

-- The topics of a run that are folded, with the rules of their pipelines. A copartitioned topic is sampled like the
-- source it goes with.
SELECT topic.topic_id, topic.pipeline_id, topic.incarnation_id, topic.topic, pipeline.name,
	topic.role = 'source' AND pipeline.redis IS NOT NULL,
	pipeline.state, pipeline.tombstones, pipeline.rejects = 'dlq',
	coalesce(incarnation.compacted OR incarnation.policy_unknown, 1),
	coalesce(topic.main_threshold, (
		SELECT max(source.main_threshold) FROM topic AS source
		WHERE source.pipeline_id = topic.pipeline_id AND source.role = 'source' AND topic.role <> 'source')),
	topic.recent_threshold, topic.recent_from_ms, topic.partitions,
	pipeline.partitioner, topic.role = 'source', iif(topic.role = 'source', pipeline.hot_share, NULL),
	iif(topic.role = 'source', coalesce(pipeline.key_part, 'whole'), 'whole')
FROM topic
JOIN pipeline USING (pipeline_id)
LEFT JOIN incarnation USING (incarnation_id)
WHERE topic.run_id = ?1 AND topic.role IN ('source', 'copartitioned')
ORDER BY topic.pipeline_id, topic.role DESC, topic.topic

-- The folded topics of a run that have records off home, with their known partition counts behind them.
SELECT topic.topic_id, topic.topic, pipeline.name, pipeline.partitioner, topic.partitions,
	(SELECT count(*) FROM off_home_key WHERE topic_id = topic.topic_id),
	iif(topic.role = 'source', 'whole', coalesce(pipeline.key_part, 'whole'))
FROM topic
JOIN pipeline USING (pipeline_id)
WHERE topic.run_id = ?1 AND topic.role IN ('source', 'copartitioned') AND topic.partitions IS NOT NULL
	AND EXISTS (SELECT 1 FROM off_home_key WHERE topic_id = topic.topic_id)
ORDER BY topic.pipeline_id, topic.role DESC, topic.topic

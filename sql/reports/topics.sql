SELECT topic.topic, topic.role, topic.incarnation_id AS incarnation, topic.partitions, topic.partitions_at_start,
	topic.cleanup_policy, topic.retention_ms, topic.timestamp_type
FROM pipeline
JOIN topic USING (pipeline_id)
WHERE pipeline.run_id = :run AND pipeline.name = :pipeline
ORDER BY topic.role = 'source' DESC, topic.role, topic.topic

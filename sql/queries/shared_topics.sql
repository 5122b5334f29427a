-- The topics of a run with fences.
SELECT topic.topic_id, topic.incarnation_id, pipeline.key_format, topic.topic, pipeline.key_part
FROM topic
JOIN pipeline USING (pipeline_id)
WHERE topic.run_id = ?1 AND topic.role = 'source' AND pipeline.redis IS NOT NULL AND topic.incarnation_id IS NOT NULL
ORDER BY topic.topic_id

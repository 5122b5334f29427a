-- The earlier counts that the config names.
SELECT partitions_before.partitions
FROM topic
JOIN partitions_before USING (pipeline_id)
WHERE topic.topic_id = ?1

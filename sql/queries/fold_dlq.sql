-- The DLQ of a pipeline, partition by partition, with what would make the list of rejected records incomplete.
SELECT topic.incarnation_id, horizon.partition, horizon.indexed_end,
	horizon.covered = 1 AND coalesce(partition.first_offset, horizon.indexed_start, horizon.log_start) = 0
		AND incarnation.compacted = 0 AND NOT EXISTS (
		SELECT 1 FROM gap_range
		WHERE gap_range.incarnation_id = topic.incarnation_id AND gap_range.partition = horizon.partition)
FROM topic
LEFT JOIN incarnation USING (incarnation_id)
LEFT JOIN horizon USING (topic_id)
LEFT JOIN partition ON partition.incarnation_id = topic.incarnation_id AND partition.partition = horizon.partition
WHERE topic.pipeline_id = ?1 AND topic.role = 'dlq'
ORDER BY horizon.partition

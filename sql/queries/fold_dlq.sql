-- The DLQ of a pipeline, partition by partition, with whether it tells all the records that were rejected there. All of
-- them lie below the high watermark that was read after the commits, which an open transaction may keep from being
-- read. Where nobody could see whether the topic is compacted, a hole may have been a record. What an earlier
-- incarnation told is known as far as it was indexed.
SELECT topic.incarnation_id, horizon.partition, horizon.indexed_end,
	horizon.covered = 1 AND horizon.indexed_end >= horizon.high_watermark_before_commit
		AND coalesce(partition.first_offset, horizon.indexed_start, horizon.log_start) = 0
		AND incarnation.compacted = 0
		AND (incarnation.policy_unknown = 0 OR horizon.indexed_end = (SELECT coalesce(sum(chunk.records), 0) FROM chunk
			WHERE chunk.incarnation_id = topic.incarnation_id AND chunk.partition = horizon.partition))
		AND NOT EXISTS (
		SELECT 1 FROM gap_range
		WHERE gap_range.incarnation_id = topic.incarnation_id AND gap_range.partition = horizon.partition)
FROM topic
LEFT JOIN incarnation USING (incarnation_id)
LEFT JOIN horizon USING (topic_id)
LEFT JOIN partition ON partition.incarnation_id = topic.incarnation_id AND partition.partition = horizon.partition
WHERE topic.pipeline_id = ?1 AND topic.role = 'dlq'
UNION ALL
SELECT ended.incarnation_id, partition.partition, partition.next_offset, 0
FROM topic
JOIN incarnation AS now USING (incarnation_id)
JOIN incarnation AS ended ON ended.cluster = now.cluster AND ended.topic = now.topic AND ended.isolation = now.isolation
	AND ended.ended_run IS NOT NULL AND ended.incarnation_id <> now.incarnation_id
LEFT JOIN partition ON partition.incarnation_id = ended.incarnation_id
WHERE topic.pipeline_id = ?1 AND topic.role = 'dlq'
ORDER BY 1, 2

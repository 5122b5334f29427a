-- The partitions of a topic as the run saw them. A "from" that is not below where indexing began may have been moved up
-- by retention.
SELECT horizon.partition, horizon.start_offset, horizon.end_offset, horizon.covered, horizon.indexed_end,
	partition.first_offset,
	coalesce(horizon.from_offset, 0),
	coalesce(horizon.from_offset, 0) = 0 OR horizon.from_offset > partition.first_offset
		OR pipeline.from_kind = 'offsets',
	horizon.committed, horizon.log_start_before_commit,
	(SELECT coalesce(sum(chunk.records), 0) FROM chunk
	 WHERE chunk.incarnation_id = topic.incarnation_id AND chunk.partition = horizon.partition AND chunk.kind = 1
		AND chunk.first_offset < horizon.indexed_end),
	(SELECT coalesce(max(min(gap_range.end_offset, horizon.indexed_end)), 0) FROM gap_range
	 WHERE gap_range.incarnation_id = topic.incarnation_id AND gap_range.partition = horizon.partition
		AND gap_range.start_offset < horizon.indexed_end)
FROM horizon
JOIN topic USING (topic_id)
JOIN pipeline USING (pipeline_id)
LEFT JOIN partition ON partition.incarnation_id = topic.incarnation_id AND partition.partition = horizon.partition
WHERE horizon.topic_id = ?1
ORDER BY horizon.partition

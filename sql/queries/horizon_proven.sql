-- The highest horizon end that earlier runs proved for each partition: same pipeline, group, mapping and incarnation, and
-- the same kind of horizon (an age no shorter), so that one that was put down wrongly does not outlive the mistake.
-- max() makes SQLite take run_id from the row that holds the highest.
SELECT horizon.partition, max(horizon.end_offset), horizon.run_id
FROM topic
JOIN pipeline USING (pipeline_id)
JOIN horizon USING (topic_id)
WHERE topic.incarnation_id = ?1 AND topic.role = 'source' AND topic.run_id < ?2
	AND pipeline.name = ?3 AND pipeline.group_id IS ?4 AND pipeline.mapping_sha256 = ?7
	AND pipeline.horizon = ?5 AND (?5 <> 'age' OR pipeline.horizon_age_ms >= ?6)
	AND horizon.end_offset > horizon.start_offset
GROUP BY horizon.partition

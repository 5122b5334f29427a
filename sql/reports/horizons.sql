-- start and end: the horizon, [start, end); indexed_start and indexed_end likewise.
SELECT horizon.partition, horizon.covered AS "covered?", horizon.start_offset AS start, horizon.end_offset AS "end",
	horizon.end_source, horizon.reason, horizon.committed, horizon.commit_trouble, horizon.log_start,
	horizon.last_stable, horizon.high_watermark, horizon.last_high_watermark, horizon.from_offset AS "from",
	horizon.indexed_start, horizon.indexed_end, horizon.records
FROM pipeline
JOIN topic USING (pipeline_id)
JOIN horizon USING (topic_id)
WHERE pipeline.run_id = :run AND pipeline.name = :pipeline AND topic.topic = :topic AND topic.role = :role
ORDER BY horizon.partition

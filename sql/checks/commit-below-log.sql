-- order: 530
-- title: records that expired before they were processed
-- severity: error
-- claim: No record lay between the committed offset, or a higher one that an earlier run saw, and the log start that
--   was read before it: nothing was deleted unprocessed.
-- unverifiable: never-indexed, the commit is below the log start, and what was between was never indexed;
--   commit-unknown, the commit could not be read; log-start-unknown, the log start could not be read.
-- remedy: The records are gone from Kafka, and the group had not committed past them: unless a worker held them at that
--   moment, they were never applied. Take them from another copy, and raise the topic's retention or the group's speed.
WITH mine AS (
	SELECT pipeline.name AS pipeline, horizon.*, state.expired_records,
		coalesce(state.first_offset, horizon.log_start_before_commit) AS first_offset,
		iif(horizon.end_source GLOB 'committed in run *', horizon.end_offset, horizon.committed) AS processed,
		(SELECT max(gap_range.end_offset) FROM gap_range
		 WHERE gap_range.incarnation_id = topic.incarnation_id AND gap_range.partition = horizon.partition
			AND gap_range.class = 'trimmed') AS trimmed_end
	FROM pipeline
	JOIN topic ON topic.pipeline_id = pipeline.pipeline_id AND topic.role = 'source'
	JOIN horizon ON horizon.topic_id = topic.topic_id
	LEFT JOIN partition_state AS state ON state.topic_id = horizon.topic_id AND state.partition = horizon.partition
	WHERE pipeline.run_id = :run AND (horizon.committed IS NOT NULL OR horizon.commit_trouble IS NOT NULL))
SELECT pipeline.name AS pipeline,
	CASE
	WHEN mine.committed IS NULL AND mine.commit_trouble IS NOT NULL THEN 'commit-unknown'
	WHEN mine.committed IS NOT NULL AND mine.log_start_before_commit IS NULL THEN 'log-start-unknown'
	WHEN mine.expired_records > 0 THEN NULL
	WHEN mine.processed < mine.log_start_before_commit
		AND (mine.first_offset > mine.processed OR mine.trimmed_end > mine.processed) THEN 'never-indexed'
	END AS reason,
	count(mine.partition) AS n
FROM pipeline
LEFT JOIN mine ON mine.pipeline = pipeline.name
WHERE pipeline.run_id = :run AND pipeline.group_id IS NOT NULL
GROUP BY 1, 2;

SELECT pipeline.name AS pipeline, topic.topic, state.partition, state.expired_first AS offset, NULL AS key,
	NULL AS redis_key, NULL AS identity,
	printf('%d %s of partition %d of %s expired unprocessed: the group %s had committed %d, and the log began '
		|| 'at %d.', state.expired_records, iif(state.expired_records = 1, 'record', 'records'),
		state.partition, topic.topic, pipeline.group_id,
		iif(horizon.end_source GLOB 'committed in run *', horizon.end_offset, horizon.committed),
		horizon.log_start_before_commit) AS detail,
	json_object('group', pipeline.group_id, 'committed', horizon.committed, 'horizon_source', horizon.end_source,
		'log_start', horizon.log_start_before_commit, 'records', state.expired_records,
		'first', json_object('offset', state.expired_first,
			'time', strftime('%Y-%m-%dT%H:%M:%fZ', state.expired_first_ms / 1000.0, 'unixepoch'),
			'time_ms', state.expired_first_ms),
		'last', json_object('offset', state.expired_last,
			'time', strftime('%Y-%m-%dT%H:%M:%fZ', state.expired_last_ms / 1000.0, 'unixepoch'),
			'time_ms', state.expired_last_ms),
		'indexed_from', state.first_offset, 'recheckable', json('false')) AS evidence
FROM topic
JOIN pipeline USING (pipeline_id)
JOIN partition_state AS state USING (topic_id)
JOIN horizon ON horizon.topic_id = state.topic_id AND horizon.partition = state.partition
WHERE topic.run_id = :run AND topic.role = 'source' AND pipeline.group_id IS NOT NULL AND state.expired_records > 0
ORDER BY topic.pipeline_id, topic.topic, state.partition;

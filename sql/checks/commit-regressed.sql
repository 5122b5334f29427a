-- order: 520
-- title: commits that moved backwards
-- severity: warning
-- claim: The committed offset of a partition is not lower than in the last run that read it for the same group.
-- unverifiable: nothing; a commit that cannot be read is trouble of the run. Without an earlier run there is nothing to
--   examine.
-- remedy: The group was reset on purpose, or its commits were lost. The fences skip what was applied before; look at
--   fence-count for double work.
WITH before AS (
	SELECT pipeline.name AS pipeline, now.topic_id, now.partition
	FROM horizon AS now
	JOIN topic USING (topic_id)
	JOIN pipeline USING (pipeline_id)
	JOIN topic AS then_topic ON then_topic.incarnation_id = topic.incarnation_id AND then_topic.run_id < :run
		AND then_topic.role = 'source'
	JOIN pipeline AS then_pipeline ON then_pipeline.pipeline_id = then_topic.pipeline_id
		AND then_pipeline.name = pipeline.name
		AND then_pipeline.group_id = pipeline.group_id
	JOIN horizon AS then_horizon ON then_horizon.topic_id = then_topic.topic_id
		AND then_horizon.partition = now.partition
	WHERE now.run_id = :run AND topic.role = 'source' AND now.committed IS NOT NULL
		AND then_horizon.committed IS NOT NULL
	GROUP BY now.topic_id, now.partition)
SELECT pipeline.name AS pipeline, NULL AS reason, count(before.partition) AS n
FROM pipeline
LEFT JOIN before ON before.pipeline = pipeline.name
WHERE pipeline.run_id = :run AND pipeline.group_id IS NOT NULL
GROUP BY pipeline.name;

WITH last AS (
	-- max() makes SQLite take the other columns from the row that holds it.
	SELECT pipeline.name AS pipeline, topic.pipeline_id, topic.topic, now.partition, now.committed,
		pipeline.group_id,
		max(then_horizon.run_id) AS then_run, then_horizon.committed AS then_committed
	FROM horizon AS now
	JOIN topic USING (topic_id)
	JOIN pipeline USING (pipeline_id)
	JOIN topic AS then_topic ON then_topic.incarnation_id = topic.incarnation_id AND then_topic.run_id < :run
		AND then_topic.role = 'source'
	JOIN pipeline AS then_pipeline ON then_pipeline.pipeline_id = then_topic.pipeline_id
		AND then_pipeline.name = pipeline.name
		AND then_pipeline.group_id = pipeline.group_id
	JOIN horizon AS then_horizon ON then_horizon.topic_id = then_topic.topic_id
		AND then_horizon.partition = now.partition
	WHERE now.run_id = :run AND topic.role = 'source' AND now.committed IS NOT NULL
		AND then_horizon.committed IS NOT NULL
	GROUP BY now.topic_id, now.partition)
SELECT pipeline, topic, partition, committed AS offset, NULL AS key, NULL AS redis_key,
	committed || '<' || then_committed AS identity,
	printf('The group %s has committed %d in partition %d of %s, and had committed %d in run %d.', group_id,
		committed, partition, topic,
		then_committed, then_run) AS detail,
	json_object('group', group_id, 'committed', committed, 'before', then_committed, 'run', then_run) AS evidence
FROM last
WHERE committed < then_committed
ORDER BY pipeline_id, topic, partition;

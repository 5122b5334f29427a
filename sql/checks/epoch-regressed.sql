-- order: 430
-- title: epochs that moved backwards
-- severity: error
-- claim: The epoch of a partition is not lower than in an earlier run that read the same counter on the same Redis.
-- unverifiable: malformed, the counter is no integer now, which epoch-malformed tells. Without an earlier run there is
--   nothing to examine.
-- remedy: Redis lost writes; look at fence-regressed too. Stop the workers of the partition, and set the counter to one
--   more than any worker has used.
WITH now AS (
	SELECT pipeline.name AS pipeline, pipeline.redis, topic.topic, topic.topic_id, topic.incarnation_id,
		pipeline.pipeline_id,
		epoch.partition, epoch.redis_key, epoch.value, epoch.malformed
	FROM epoch
	JOIN topic USING (topic_id)
	JOIN pipeline USING (pipeline_id)
	WHERE epoch.run_id = :run AND epoch.present
), before AS (
	SELECT now.pipeline, now.malformed, now.topic_id, now.partition
	FROM now
	JOIN topic AS then_topic ON then_topic.incarnation_id = now.incarnation_id AND then_topic.run_id < :run
	JOIN pipeline AS then_pipeline ON then_pipeline.pipeline_id = then_topic.pipeline_id
		AND then_pipeline.name = now.pipeline
		AND then_pipeline.redis = now.redis
	JOIN epoch AS then_epoch ON then_epoch.topic_id = then_topic.topic_id AND then_epoch.partition = now.partition
		AND then_epoch.redis_key = now.redis_key AND then_epoch.value IS NOT NULL
	GROUP BY now.topic_id, now.partition)
SELECT pipeline.name AS pipeline, iif(before.malformed IS NOT NULL, 'malformed', NULL) AS reason,
	count(before.partition) AS n
FROM pipeline
LEFT JOIN before ON before.pipeline = pipeline.name
WHERE pipeline.run_id = :run AND pipeline.redis IS NOT NULL AND pipeline.epoch_template <> ''
GROUP BY 1, 2;

WITH now AS (
	SELECT pipeline.name AS pipeline, pipeline.redis, pipeline.pipeline_id, topic.topic, topic.topic_id,
		topic.incarnation_id,
		epoch.partition, epoch.redis_key, epoch.value
	FROM epoch
	JOIN topic USING (topic_id)
	JOIN pipeline USING (pipeline_id)
	WHERE epoch.run_id = :run AND epoch.present AND epoch.value IS NOT NULL
), before AS (
	SELECT now.*, max(then_epoch.value) AS highest, then_epoch.run_id AS then_run, then_epoch.read_us AS then_us
	FROM now
	JOIN topic AS then_topic ON then_topic.incarnation_id = now.incarnation_id AND then_topic.run_id < :run
	JOIN pipeline AS then_pipeline ON then_pipeline.pipeline_id = then_topic.pipeline_id
		AND then_pipeline.name = now.pipeline
		AND then_pipeline.redis = now.redis
	JOIN epoch AS then_epoch ON then_epoch.topic_id = then_topic.topic_id AND then_epoch.partition = now.partition
		AND then_epoch.redis_key = now.redis_key
	GROUP BY now.topic_id, now.partition)
SELECT pipeline, topic, partition, NULL AS offset, NULL AS key, redis_key, value || '<' || highest AS identity,
	printf('The epoch of partition %d of %s is %d, and was %d in run %d.', partition, topic, value, highest,
		then_run) AS detail,
	json_object('epoch', value, 'highest', highest, 'run', then_run,
		'read', strftime('%Y-%m-%dT%H:%M:%fZ', then_us / 1000 / 1000.0, 'unixepoch')) AS evidence
FROM before
WHERE value < highest
ORDER BY pipeline_id, topic, partition;

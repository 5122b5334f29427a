-- order: 410
-- title: epochs that are no integers
-- severity: error
-- claim: The epoch counter of a partition, where it stands, is an integer.
-- unverifiable: nothing; an epoch that could not be read is trouble of the run.
-- remedy: The script fails on every record of the partition, or lets a worker in that no longer owns it. Stop its
--   workers, and set the counter to one more than any worker has used.
SELECT pipeline.name AS pipeline, NULL AS reason, count(iif(epoch.present, 1, NULL)) AS n
FROM pipeline
LEFT JOIN topic ON topic.pipeline_id = pipeline.pipeline_id AND topic.role = 'source'
LEFT JOIN epoch ON epoch.topic_id = topic.topic_id
WHERE pipeline.run_id = :run AND pipeline.redis IS NOT NULL AND pipeline.epoch_template <> ''
GROUP BY pipeline.name;

SELECT pipeline.name AS pipeline, topic.topic, epoch.partition, NULL AS offset, NULL AS key, epoch.redis_key,
	epoch.malformed AS identity,
	printf('The epoch of partition %d of %s is no integer: %s.', epoch.partition, topic.topic,
		epoch.malformed) AS detail,
	json_object('malformed', epoch.malformed) AS evidence
FROM epoch
JOIN topic USING (topic_id)
JOIN pipeline USING (pipeline_id)
WHERE epoch.run_id = :run AND epoch.present AND epoch.malformed IS NOT NULL
ORDER BY topic.pipeline_id, topic.topic, epoch.partition;

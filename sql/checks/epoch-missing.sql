-- order: 420
-- title: partitions without an epoch
-- severity: warning
-- claim: A partition that has a commit has an epoch counter in Redis.
-- unverifiable: commit-unknown, the commit could not be read.
-- remedy: An absent epoch counts as 0 and admits every worker that ever owned the partition. Set the counter to one
--   more than any worker has used.
SELECT pipeline.name AS pipeline, iif(horizon.commit_trouble IS NOT NULL, 'commit-unknown', NULL) AS reason,
	count(iif(horizon.committed IS NOT NULL OR horizon.commit_trouble IS NOT NULL, epoch.partition, NULL)) AS n
FROM pipeline
LEFT JOIN topic ON topic.pipeline_id = pipeline.pipeline_id AND topic.role = 'source'
LEFT JOIN epoch ON epoch.topic_id = topic.topic_id
LEFT JOIN horizon ON horizon.topic_id = topic.topic_id AND horizon.partition = epoch.partition
WHERE pipeline.run_id = :run AND pipeline.redis IS NOT NULL AND pipeline.epoch_template <> ''
GROUP BY 1, 2;

SELECT pipeline.name AS pipeline, topic.topic, epoch.partition, NULL AS offset, NULL AS key, epoch.redis_key,
	NULL AS identity,
	printf('Partition %d of %s is committed up to %d and has no epoch in Redis.', epoch.partition, topic.topic,
		horizon.committed) AS detail,
	json_object('committed', horizon.committed) AS evidence
FROM epoch
JOIN topic USING (topic_id)
JOIN pipeline USING (pipeline_id)
JOIN horizon ON horizon.topic_id = epoch.topic_id AND horizon.partition = epoch.partition
WHERE epoch.run_id = :run AND NOT epoch.present AND horizon.committed IS NOT NULL
ORDER BY topic.pipeline_id, topic.topic, epoch.partition;

-- order: 510
-- title: partitions with records and no commit
-- severity: info
-- claim: A partition with records has a committed offset of the group.
-- unverifiable: commit-unknown, the commit could not be read.
-- remedy: Nothing says how far the pipeline has come in the partition, so its keys stay undecided. Where the group
--   keeps no commits by design, set horizon to age.
SELECT pipeline.name AS pipeline, iif(horizon.commit_trouble IS NOT NULL, 'commit-unknown', NULL) AS reason,
	count(iif(horizon.records > 0, 1, NULL)) AS n
FROM pipeline
LEFT JOIN topic ON topic.pipeline_id = pipeline.pipeline_id AND topic.role = 'source'
LEFT JOIN horizon ON horizon.topic_id = topic.topic_id
WHERE pipeline.run_id = :run AND pipeline.horizon = 'committed' AND pipeline.group_id IS NOT NULL
GROUP BY 1, 2;

SELECT pipeline.name AS pipeline, topic.topic, horizon.partition, NULL AS offset, NULL AS key, NULL AS redis_key,
	NULL AS identity,
	printf('Partition %d of %s has %d %s, and the group %s has no commit there.', horizon.partition, topic.topic,
		horizon.records,
		iif(horizon.records = 1, 'record', 'records'), pipeline.group_id) AS detail,
	json_object('group', pipeline.group_id, 'records', horizon.records, 'group_state', pipeline.group_state,
		'horizon_end', horizon.end_offset, 'horizon_source', horizon.end_source) AS evidence
FROM horizon
JOIN topic USING (topic_id)
JOIN pipeline USING (pipeline_id)
WHERE horizon.run_id = :run AND topic.role = 'source' AND pipeline.horizon = 'committed'
	AND pipeline.group_id IS NOT NULL
	AND horizon.records > 0 AND horizon.committed IS NULL AND horizon.commit_trouble IS NULL
ORDER BY topic.pipeline_id, topic.topic, horizon.partition;

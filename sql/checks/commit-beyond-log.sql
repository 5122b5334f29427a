-- order: 540
-- title: commits beyond the end of the log
-- severity: error
-- claim: The committed offset of a partition is not above its high watermark, read after it.
-- unverifiable: commit-unknown, the commit could not be read; watermark-unknown, the high watermark could not be read.
-- remedy: The worker would skip records that are still to come, or jump by auto.offset.reset. The commit belongs to
--   another topic of that name, or the log lost its end. Reset the group to the newest fence of the partition.
WITH mine AS (
	SELECT pipeline.name AS pipeline, horizon.partition, horizon.committed,
		max(coalesce(horizon.high_watermark, horizon.last_high_watermark),
			coalesce(horizon.last_high_watermark, horizon.high_watermark)) AS high
	FROM pipeline
	JOIN topic ON topic.pipeline_id = pipeline.pipeline_id AND topic.role = 'source'
	JOIN horizon ON horizon.topic_id = topic.topic_id
	WHERE pipeline.run_id = :run AND (horizon.committed IS NOT NULL OR horizon.commit_trouble IS NOT NULL))
SELECT pipeline.name AS pipeline,
	CASE
	WHEN mine.partition IS NULL THEN NULL
	WHEN mine.committed IS NULL THEN 'commit-unknown'
	WHEN mine.high IS NULL THEN 'watermark-unknown'
	END AS reason,
	count(mine.partition) AS n
FROM pipeline
LEFT JOIN mine ON mine.pipeline = pipeline.name
WHERE pipeline.run_id = :run AND pipeline.group_id IS NOT NULL
GROUP BY 1, 2;

WITH mine AS (
	SELECT pipeline.name AS pipeline, topic.pipeline_id, topic.topic, horizon.partition, horizon.committed,
		pipeline.group_id,
		max(coalesce(horizon.high_watermark, horizon.last_high_watermark),
			coalesce(horizon.last_high_watermark, horizon.high_watermark)) AS high
	FROM horizon
	JOIN topic USING (topic_id)
	JOIN pipeline USING (pipeline_id)
	WHERE horizon.run_id = :run AND topic.role = 'source')
SELECT pipeline, topic, partition, committed AS offset, NULL AS key, NULL AS redis_key, NULL AS identity,
	printf('The group %s has committed %d in partition %d of %s, whose log ends at %d.', group_id, committed,
		partition, topic, high) AS detail,
	json_object('group', group_id, 'committed', committed, 'high_watermark', high) AS evidence
FROM mine
WHERE committed > high
ORDER BY pipeline_id, topic, partition;

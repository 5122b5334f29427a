-- order: 320
-- title: co-partitioned topics with different partition counts
-- severity: error
-- claim: Topics declared co-partitioned have the same number of partitions.
-- unverifiable: partitions-unknown, a partition count could not be read.
-- remedy: Add partitions to the topic that has fewer, and let producers learn the new count before anything is joined.
WITH pair AS (
	SELECT pipeline.name AS pipeline, source.topic AS topic, source.partitions AS partitions, other.topic AS other,
		other.partitions AS others
	FROM topic AS source
	JOIN pipeline USING (pipeline_id)
	JOIN topic AS other ON other.pipeline_id = source.pipeline_id AND other.role = 'copartitioned'
	WHERE source.run_id = :run AND source.role = 'source')
SELECT pipeline, iif(partitions IS NULL OR others IS NULL, 'partitions-unknown', NULL) AS reason, count(*) AS n
	FROM pair GROUP BY 1, 2;

SELECT pipeline.name AS pipeline, other.topic AS topic, NULL AS partition, NULL AS offset, NULL AS key,
	NULL AS redis_key, source.topic AS identity,
	printf('%s has %d partitions, and %s, declared co-partitioned, has %d.', source.topic, source.partitions,
		other.topic, other.partitions) AS detail,
	json_object('topics', json_array(source.topic, other.topic), 'partitions',
		json_array(source.partitions, other.partitions)) AS evidence
FROM topic AS source
JOIN pipeline USING (pipeline_id)
JOIN topic AS other ON other.pipeline_id = source.pipeline_id AND other.role = 'copartitioned'
WHERE source.run_id = :run AND source.role = 'source' AND source.partitions <> other.partitions
ORDER BY source.pipeline_id, source.topic, other.topic;

-- order: 330
-- title: keys that lie in different partitions of co-partitioned topics
-- severity: error
-- claim: The newest records of a sampled key stand in the same partition of all topics declared co-partitioned.
-- unverifiable: count-differs, the topics differ in partition count, which copartition-count tells; resized, both
--   partitions are legal, and the key has not moved in both topics yet.
-- remedy: The producers of the two topics partition differently; correct the one whose records are off home.
WITH pair AS (
	SELECT DISTINCT pipeline.name AS pipeline
	FROM topic AS other
	JOIN pipeline USING (pipeline_id)
	WHERE other.run_id = :run AND other.role = 'copartitioned')
SELECT pair.pipeline,
	CASE
	WHEN NOT same_count THEN 'count-differs'
	WHEN partition <> other_partition AND legal > 0 AND other_legal > 0 THEN 'resized'
	END AS reason,
	count(split_key.key) AS n
FROM pair
LEFT JOIN split_key ON split_key.pipeline = pair.pipeline AND (legal > 0 OR NOT same_count)
GROUP BY 1, 2
ORDER BY 1, 2;

SELECT pipeline, other AS topic, other_partition AS partition, other_offset AS offset, key, NULL AS redis_key,
	topic || '/' || partition AS identity,
	printf('%s is in partition %d of %s and in partition %d of %s.', the_key(key), partition, topic,
		other_partition, other) AS detail,
	json_object('topics', json_array(topic, other), 'partitions', json_array(partition, other_partition),
		'newest_offsets', json_array(last_offset, other_offset), 'newest_ms',
			json_array(last_ms, other_ms)) AS evidence
FROM split_key
-- A key that is off home in the source topic has its finding in copartition-break.
WHERE same_count AND partition <> other_partition AND legal > 0 AND other_legal = 0
ORDER BY pipeline, topic, other, hash, key;

-- The partition counts that a topic has had, the present one left out, the latest first: as this run and earlier ones
-- saw it, then as the config says.
WITH seen (partitions, age) AS (
	SELECT partitions_at_start, 1 FROM topic WHERE topic_id = ?1
	UNION ALL
	SELECT earlier.partitions, 2 * (now.run_id - earlier.run_id)
	FROM topic AS now
	JOIN topic AS earlier USING (incarnation_id)
	WHERE now.topic_id = ?1 AND earlier.run_id < now.run_id
	UNION ALL
	SELECT earlier.partitions_at_start, 2 * (now.run_id - earlier.run_id) + 1
	FROM topic AS now
	JOIN topic AS earlier USING (incarnation_id)
	WHERE now.topic_id = ?1 AND earlier.run_id < now.run_id
	UNION ALL
	SELECT before.partitions, 1000000000000 + before.ordinal
	FROM topic
	JOIN partitions_before AS before USING (pipeline_id)
	WHERE topic.topic_id = ?1)
SELECT partitions
FROM seen
WHERE partitions > 0 AND partitions IS NOT (SELECT partitions FROM topic WHERE topic_id = ?1)
GROUP BY partitions
ORDER BY min(age), partitions

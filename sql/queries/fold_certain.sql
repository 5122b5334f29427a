-- The highest commits that earlier runs read while the topic had another partition count: below them, nobody had heard
-- of the present one.
SELECT horizon.partition, earlier.partitions, max(horizon.committed)
FROM topic AS now
JOIN pipeline AS mine ON mine.pipeline_id = now.pipeline_id
JOIN topic AS earlier ON earlier.incarnation_id = now.incarnation_id AND earlier.role = 'source'
	AND earlier.run_id < now.run_id
JOIN pipeline AS theirs ON theirs.pipeline_id = earlier.pipeline_id AND theirs.name = mine.name
	AND theirs.group_id IS mine.group_id
JOIN horizon ON horizon.topic_id = earlier.topic_id
WHERE now.topic_id = ?1 AND horizon.committed IS NOT NULL AND earlier.partitions IS NOT NULL
GROUP BY horizon.partition, earlier.partitions

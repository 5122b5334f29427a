-- order: 610
-- title: topics whose history is another one
-- severity: error
-- claim: Where the index holds records of a partition, Kafka still has the same ones there or none, and its end is not
--   below the index.
-- unverifiable: not-replayed, the partition could not be read. Without an earlier run there is nothing to examine.
-- remedy: The topic was deleted and created again, or a broker lost its end in an unclean election. Fences and commits
--   of before are void: stop the workers, decide which history is the true one, and rebuild the state from it.
WITH mine AS (
	SELECT pipeline.name AS pipeline, topic.topic_id, topic.topic, horizon.partition, horizon.covered,
		EXISTS (
			SELECT 1 FROM topic AS earlier
			JOIN horizon AS then_horizon ON then_horizon.topic_id = earlier.topic_id
				AND then_horizon.partition = horizon.partition
			WHERE earlier.incarnation_id = topic.incarnation_id AND earlier.run_id < :run
				AND then_horizon.indexed_end > 0)
		OR EXISTS (
			SELECT 1 FROM rewrite
			WHERE rewrite.run_id = :run AND rewrite.new_incarnation_id = topic.incarnation_id
				AND rewrite.partition = horizon.partition) AS known
	FROM pipeline
	JOIN topic ON topic.pipeline_id = pipeline.pipeline_id
	JOIN horizon ON horizon.topic_id = topic.topic_id
	WHERE pipeline.run_id = :run)
SELECT pipeline.name AS pipeline, iif(mine.covered = 0, 'not-replayed', NULL) AS reason, count(mine.partition) AS n
FROM pipeline
LEFT JOIN mine ON mine.pipeline = pipeline.name AND mine.known
WHERE pipeline.run_id = :run
GROUP BY 1, 2;

SELECT pipeline.name AS pipeline, rewrite.topic, rewrite.partition, rewrite.offset, NULL AS key, NULL AS redis_key,
	rewrite.kind AS identity,
	CASE rewrite.kind
	WHEN 'fell' THEN printf('The end of partition %d of %s fell to %d, below what was indexed.', rewrite.partition,
		rewrite.topic, rewrite.offset)
	ELSE printf('Partition %d of %s holds another record at %d than was indexed there.', rewrite.partition,
		rewrite.topic, rewrite.offset)
	END AS detail,
	json_object('kind', rewrite.kind, 'old_incarnation', rewrite.old_incarnation_id, 'new_incarnation',
		rewrite.new_incarnation_id,
		'seen', json(rewrite.evidence)) AS evidence
FROM rewrite
JOIN topic ON topic.run_id = rewrite.run_id AND topic.topic = rewrite.topic
	AND topic.incarnation_id = rewrite.new_incarnation_id
JOIN pipeline USING (pipeline_id)
WHERE rewrite.run_id = :run
ORDER BY topic.pipeline_id, rewrite.topic, rewrite.partition, rewrite.offset, rewrite.rewrite_id;

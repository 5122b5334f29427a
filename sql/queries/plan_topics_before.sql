-- The topics that the newest earlier run of a pipeline looked at.
SELECT topic.topic, topic.run_id
FROM topic
JOIN pipeline USING (pipeline_id)
WHERE pipeline.name = ?1 AND topic.role = 'source' AND topic.run_id = (
	SELECT max(run.run_id)
	FROM run
	JOIN pipeline AS earlier USING (run_id)
	WHERE earlier.name = ?1 AND run.run_id < ?2 AND run.reached IN ('sampled', 'checked', 'reported'))
ORDER BY topic.topic

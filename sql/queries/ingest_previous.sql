-- Where the index ended for each partition in the newest earlier run of the same pipeline that looked to its end.
SELECT horizon.partition, horizon.indexed_end
FROM horizon
WHERE topic_id = (
	SELECT topic.topic_id
	FROM topic
	JOIN pipeline USING (pipeline_id)
	JOIN run ON run.run_id = topic.run_id
	WHERE topic.incarnation_id = ?1 AND topic.role = 'source' AND topic.run_id < ?2 AND pipeline.name = ?3
		AND run.reached IN ('sampled', 'checked', 'reported')
	ORDER BY topic.run_id DESC
	LIMIT 1)

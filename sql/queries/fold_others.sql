-- How many topics keep their fold beside those that a run replaces.
SELECT count(*)
FROM topic_state
JOIN topic USING (topic_id)
JOIN pipeline USING (pipeline_id)
WHERE pipeline.name NOT IN (SELECT name FROM pipeline WHERE run_id = ?1)

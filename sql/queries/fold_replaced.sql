-- The topics whose fold a run replaces: those that its pipelines had when they were last checked.
SELECT topic_state.topic_id
FROM topic_state
JOIN topic USING (topic_id)
JOIN pipeline USING (pipeline_id)
WHERE pipeline.name IN (SELECT name FROM pipeline WHERE run_id = ?1)

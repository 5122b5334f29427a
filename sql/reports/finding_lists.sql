-- The order of findings: checks, then pipelines.
SELECT name, pipeline, kept
FROM check_result
WHERE run_id = :run AND kept > 0
ORDER BY ordinal, name, pipeline

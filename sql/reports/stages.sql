SELECT name AS stage, started_us AS "started@", duration_us
FROM stage
WHERE run_id = :run AND name <> 'report'
ORDER BY started_us, name

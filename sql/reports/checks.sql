SELECT name AS "check", title, severity, status, examined, findings, kept, trouble
FROM check_result
WHERE run_id = :run AND pipeline = :pipeline
ORDER BY ordinal, name

-- Where all findings of a check are less grave than it says, their own severity counts.
SELECT name AS "check", title,
	CASE
	WHEN kept = 0 OR kept < findings OR EXISTS (SELECT 1 FROM finding WHERE finding.run_id = :run
		AND finding.name = check_result.name AND finding.pipeline = :pipeline
		AND finding.severity = check_result.severity) THEN severity
	WHEN EXISTS (SELECT 1 FROM finding WHERE finding.run_id = :run AND finding.name = check_result.name
		AND finding.pipeline = :pipeline AND finding.severity = 'warning') THEN 'warning'
	ELSE 'info'
	END AS severity, status, examined, findings, kept, trouble
FROM check_result
WHERE run_id = :run AND pipeline = :pipeline
ORDER BY ordinal, name

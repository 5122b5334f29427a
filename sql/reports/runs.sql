-- decisive: findings at or above fail.on. judged: the run has a status, or should have got one.
WITH counted AS (
	SELECT run_id,
		sum(findings * (severity = 'error')) AS error,
		sum(findings * (severity = 'warning')) AS warning,
		sum(findings * (severity = 'info')) AS info
	FROM check_result
	GROUP BY run_id
),
rule AS (SELECT run_id, value AS fail_on FROM setting WHERE name = 'fail.on')
SELECT run.run_id AS run, run.started_us AS "started@", run.finished_us - run.started_us AS duration_us, run.command,
	run.config, run.reached, coalesce(error, 0) AS error, coalesce(warning, 0) AS warning, coalesce(info, 0) AS info,
	run.command = 'audit' OR run.reached IN ('checked', 'reported') AS "judged?",
	CASE coalesce(fail_on, 'warning')
		WHEN 'error' THEN coalesce(error, 0)
		WHEN 'warning' THEN coalesce(error + warning, 0)
		ELSE coalesce(error + warning + info, 0)
	END AS decisive
FROM run
LEFT JOIN counted USING (run_id)
LEFT JOIN rule USING (run_id)
ORDER BY run.run_id

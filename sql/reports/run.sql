-- The run itself. It is finished when the last stage before the report was: the report must not depend on when it was
-- written.
SELECT run.run_id AS run, run.command, run.tool, run.config, run.config_sha256, run.started_us AS "started@",
	(SELECT max(started_us + duration_us) FROM stage
	 WHERE stage.run_id = run.run_id AND name <> 'report') AS "finished@",
	run.since_us AS "since@", run.all_keys AS "all_keys?",
	coalesce((
		SELECT value FROM setting
		WHERE setting.run_id = run.run_id AND name = 'fail.on'), 'warning') AS fail_on,
	(SELECT max(earlier.run_id) FROM run AS earlier
	 WHERE earlier.run_id < run.run_id AND earlier.reached IN ('checked', 'reported')) AS previous_run
FROM run
WHERE run.run_id = :run

-- Runs up to this one, the newest first, that could be complete.
SELECT run_id AS run,
	coalesce((
		SELECT max(started_us + duration_us) FROM stage
		WHERE stage.run_id = run.run_id AND name <> 'report'), started_us) AS finished_us
FROM run
WHERE run_id <= :run AND reached IN ('checked', 'reported')
ORDER BY run_id DESC

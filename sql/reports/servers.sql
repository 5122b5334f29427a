-- The Redis servers of a scope, and what became of the server at that address since it was last seen.
WITH used AS (
	SELECT *
	FROM redis_server
	WHERE run_id = :run
		AND ('redis/' || rtrim(rtrim(address, '0123456789'), '/') = :pipeline
		     OR EXISTS (
			SELECT 1 FROM pipeline
			WHERE pipeline.run_id = :run AND pipeline.name = :pipeline
				AND (pipeline.redis = address OR substr(pipeline.redis, 1, length(address) + 1) = address || '/'))
		     OR EXISTS (
			SELECT 1 FROM stream_watch
			WHERE stream_watch.run_id = :run AND 'streams/' || stream_watch.name = :pipeline
				AND stream_watch.redis = address))
),
paired AS (
	SELECT used.*, (
		SELECT earlier.server_id FROM redis_server AS earlier
		WHERE rtrim(earlier.address, '0123456789') = rtrim(used.address, '0123456789')
			AND earlier.run_id < used.run_id
		ORDER BY earlier.run_id DESC, earlier.server_id LIMIT 1) AS before_id
	FROM used
)
SELECT paired.address, paired.role, paired.version, paired.process, paired.replid, paired.replid2, paired.repl_offset,
	paired.uptime_s, paired.keys, paired.read_us AS "read@",
	CASE
		WHEN before_id IS NULL THEN 'first-seen'
		WHEN paired.replid IS NULL OR before.replid IS NULL THEN 'unknown'
		WHEN paired.replid <> before.replid AND paired.replid2 = before.replid THEN 'new-master'
		WHEN paired.replid <> before.replid AND paired.process = before.process AND paired.role = 'master'
			AND before.role = 'master' AND paired.second_repl_offset = -1 THEN 'unchanged' -- but for its name
		WHEN paired.replid <> before.replid THEN 'new-history'
		WHEN paired.process <> before.process THEN 'restarted'
		ELSE 'unchanged'
	END AS change,
	before.run_id AS previous_run, before.replid AS previous_replid, before.process AS previous_process,
	before.version AS previous_version
FROM paired
LEFT JOIN redis_server AS before ON before.server_id = paired.before_id
ORDER BY paired.address

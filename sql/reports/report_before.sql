-- The manifest that the next one follows.
SELECT run_id AS previous_run, manifest_sha256 AS previous_sha256
FROM report
WHERE run_id < :run
ORDER BY run_id DESC LIMIT 1

-- The report of a run as it was written: its manifest and what that one follows.
SELECT manifest_sha256, previous_run, previous_sha256, directory FROM report WHERE run_id = :run

INSERT INTO report (run_id, manifest_sha256, previous_run, previous_sha256, directory, written_us)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id) DO UPDATE
SET manifest_sha256 = excluded.manifest_sha256, directory = excluded.directory, written_us = excluded.written_us

INSERT INTO stage (run_id, name, started_us, duration_us) VALUES (?, ?, ?, ?)
ON CONFLICT (run_id, name) DO UPDATE SET started_us = excluded.started_us, duration_us = excluded.duration_us

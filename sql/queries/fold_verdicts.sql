INSERT INTO verdict_count (run_id, pipeline, verdict, records) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (run_id, pipeline, verdict) DO UPDATE SET records = records + excluded.records

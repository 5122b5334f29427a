INSERT INTO unverifiable (run_id, pipeline, name, reason, subjects) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (run_id, pipeline, name, reason) DO UPDATE SET subjects = subjects + excluded.subjects

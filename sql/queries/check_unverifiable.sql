INSERT INTO unverifiable (run_id, pipeline, name, reason, subjects) VALUES (?1, ?2, ?3, ?4, ?5)

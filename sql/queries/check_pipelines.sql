SELECT name FROM pipeline WHERE run_id = ?1 ORDER BY pipeline_id

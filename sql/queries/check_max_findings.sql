SELECT CAST(value AS INTEGER) FROM setting WHERE run_id = ?1 AND name = 'max.findings'

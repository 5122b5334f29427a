SELECT scope FROM scope WHERE run_id = ?1 AND kind = ?2 ORDER BY place

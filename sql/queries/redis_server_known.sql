SELECT 1 FROM redis_server WHERE run_id = ? AND address = ?

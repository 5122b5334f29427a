DELETE FROM verdict_count WHERE run_id = ?1;

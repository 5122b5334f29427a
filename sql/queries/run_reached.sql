UPDATE run SET reached = ?2, finished_us = ?3 WHERE run_id = ?1

DELETE FROM check_result WHERE run_id = ?1;
DELETE FROM unverifiable WHERE run_id = ?1;
DELETE FROM finding WHERE run_id = ?1;
DELETE FROM trouble WHERE run_id = ?1 AND stage = 'check';

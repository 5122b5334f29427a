UPDATE incarnation SET ended_run = ?2 WHERE incarnation_id = ?1;

UPDATE off_home_key SET cause = 0 WHERE topic_id = ?1

UPDATE off_home_key SET cause = ?2 WHERE topic_id = ?1

SELECT count(*) FROM key_history WHERE topic_id = ?1 AND hash < ?2

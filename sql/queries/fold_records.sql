SELECT sum(records) FROM horizon WHERE topic_id = ?1

INSERT INTO shared_key (state_id, topic_id) VALUES (?1, ?2)

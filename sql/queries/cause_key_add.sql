INSERT INTO cause_key (topic_id, cause, ordinal, key, partition, home, placed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)

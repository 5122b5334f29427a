INSERT INTO placement (topic_id, partition, home, legal, records, keys) VALUES (?1, ?2, ?3, ?4, ?5, ?6)

INSERT INTO topic_count (topic_id, ordinal, partitions) VALUES (?1, ?2, ?3)

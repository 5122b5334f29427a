INSERT INTO cause_member (topic_id, cause, ordinal, class, partitioner, part, partitions, users)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

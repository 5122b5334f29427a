SELECT partitions FROM topic_count WHERE topic_id = ?1 AND ordinal > 0 ORDER BY ordinal

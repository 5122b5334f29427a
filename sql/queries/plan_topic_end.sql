UPDATE topic
SET partitions = ?2, main_threshold = ?3, recent_threshold = ?4, main_keys = ?5, recent_keys = ?6, recent_from_ms = ?7,
	history_keys = ?8, redis_keys = ?9, redis_keys_taken = ?10, scan_complete = ?11, incarnation_id = ?12,
	redis_keys_unread = ?13
WHERE topic_id = ?1

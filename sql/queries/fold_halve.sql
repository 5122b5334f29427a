UPDATE topic
SET main_threshold = CASE WHEN main_threshold IS NULL AND ?2 = 0 THEN NULL ELSE ?2 END,
	recent_threshold = CASE WHEN recent_threshold IS NULL AND ?3 = 0 THEN NULL ELSE ?3 END
WHERE topic_id = ?1

-- Records that seemed stale, and which another cause explains.
UPDATE topic_resize SET stale_keys = 0, stale_records = 0
WHERE topic_id = ?1 AND stale_records > 0
	AND NOT EXISTS (SELECT 1 FROM cause WHERE cause.topic_id = ?1 AND kind = 'stale-metadata');

-- The server said that no hash had field TTLs when the look began, and that some had when it ended.
UPDATE fence SET field_ttl_ms = NULL WHERE topic_id = ?1 AND field_ttl_ms = -1

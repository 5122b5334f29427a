INSERT OR IGNORE INTO redis_setting (server_id, name, value) VALUES (?, ?, ?)

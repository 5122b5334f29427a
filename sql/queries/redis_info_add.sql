-- Modules share one name in INFO; their lines are numbered before they come here, so that no name comes twice.
INSERT OR IGNORE INTO redis_info (server_id, name, value) VALUES (?, ?, ?)

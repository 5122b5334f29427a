INSERT INTO pending_count (group_id, idle_log2, deliveries, entries) VALUES (?, ?, ?, ?)

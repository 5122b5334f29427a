INSERT INTO pending (group_id, entry, consumer_id, consumer, idle_ms, deliveries, present, content)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

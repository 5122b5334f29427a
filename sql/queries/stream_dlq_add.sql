INSERT INTO stream_dlq_entry (stream_id, entry, source, grp, content) VALUES (?, ?, ?, ?, ?)

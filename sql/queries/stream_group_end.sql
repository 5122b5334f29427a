UPDATE stream_group SET trouble = ?2, consumers_after = ?3, pending_after = ?4, last_delivered_after = ?5,
	entries_read_after = ?6, lag_after = ?7, threshold = ?8, listed = ?9, kept = ?10, acknowledged = ?11
WHERE group_id = ?1

SELECT
	(SELECT coalesce(max(stream_id), 0) + 1 FROM stream),
	(SELECT coalesce(max(group_id), 0) + 1 FROM stream_group),
	(SELECT coalesce(max(consumer_id), 0) + 1 FROM stream_consumer)

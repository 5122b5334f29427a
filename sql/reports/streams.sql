-- The streams of a watch, and what was looked at in each.
SELECT key_text(stream.redis_key) AS stream, stream.role, stream.present AS "present?", stream.trouble, stream.length,
	entry_text(stream.last_generated) AS last_generated, entry_text(stream.first_entry) AS first_entry,
	count(stream_group.group_id) AS groups, sum(stream_group.consumers) AS consumers, sum(stream_group.pending) AS pending,
	sum(stream_group.listed) AS listed, sum(stream_group.kept) AS kept, sum(stream_group.acknowledged) AS acknowledged
FROM stream_watch
JOIN stream USING (watch_id)
LEFT JOIN stream_group USING (stream_id)
WHERE stream_watch.run_id = :run AND 'streams/' || stream_watch.name = :pipeline
GROUP BY stream.stream_id
ORDER BY stream.role DESC, stream.redis_key

-- order: 635
-- subject: stream
-- title: entries that were delivered too often
-- severity: error
-- claim: A pending entry was delivered fewer than `deliveries` times; or just as often, and its last delivery is
--   younger than `idle`: that attempt may still be running.
-- unverifiable: not-sampled, the group has more pending entries than pending.keys, and the entry is not among those
--   kept; not-looked-at, the pages of pending entries came to no end.
-- remedy: Look at the entry, copy it to the dead-letter stream with XADD, and acknowledge it with XACK, in this order.
SELECT pipeline, reason, n FROM pending_subject WHERE name = 'stream-poison' ORDER BY 1, 2;

SELECT pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key, NULL AS identity,
	stream, grp, consumer, id AS entry,
	printf('Entry %s of %s is pending in group %s%s after %d deliver%s%s, %s.', id, text, grp_text,
		iif(consumer IS NULL, '', ' at consumer ' || consumer_text),
		deliveries, iif(deliveries = 1, 'y', 'ies'),
		coalesce(', the last ' || idle_text || ' ago', ''),
		CASE
		WHEN dlq IS NULL THEN 'and no dead-letter stream is configured'
		WHEN copied IS NULL AND dlq_unread THEN 'and the dead-letter stream was not read to its end'
		WHEN copied IS NULL THEN 'and is not in the dead-letter stream'
		ELSE 'copied to the dead-letter stream but not acknowledged'
		END) AS detail,
	json_object('deliveries', deliveries, 'deliveries_max', deliveries_max, 'delivered', delivered_at,
		'idle_ms', idle_ms, 'idle_max_ms', idle_max_ms, 'added', added_at, 'age_ms', age_ms,
		'consumer_alive', json(iif(alive IS NULL, 'null', iif(alive, 'true', 'false'))),
		'consumer_idle_ms', consumer_idle_ms, 'consumer_inactive_ms', consumer_inactive_ms,
		'dlq', dlq, 'in_dlq', json(CASE WHEN copied IS NOT NULL THEN 'true'
			WHEN dlq IS NULL OR dlq_unread THEN 'null' ELSE 'false' END),
		'dlq_entry', entry_text(copy), 'linked_by', copied) AS evidence,
	printf('Look at it: redis-cli XRANGE %s %s %s ; ', word, id, id)
		|| iif(copied IS NULL,
			printf('copy it, with each field that it has: redis-cli XADD %s ''*'' source %s group %s FIELD '
				|| 'VALUE ; then ', coalesce(dlq_word, 'DLQ'), id, grp_word),
			printf('compare it with the copy: redis-cli XRANGE %s %s %s ; then ', dlq_word,
				entry_text(copy), entry_text(copy)))
		|| printf('acknowledge it: redis-cli XACK %s %s %s', word, grp_word, id) AS remedy
FROM pending_case
WHERE fault = 'stream-poison'
ORDER BY pipeline, stream, grp, pending_case.entry;

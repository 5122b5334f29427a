-- order: 630
-- subject: stream
-- title: pending entries that are no longer in their stream
-- severity: error
-- claim: An entry that is pending is still in the stream: whoever takes it over finds its content.
-- unverifiable: not-sampled, the group has more pending entries than pending.keys, and the entry is not among those
--   kept; not-looked-at, the stream was not asked for the entry, or the pages of pending entries came to no end.
-- remedy: The content is lost unless the dead-letter stream, the producer or the group's results have it; find out what
--   it was, then acknowledge it with XACK. Acknowledge before you delete; trim by MINID below the oldest pending entry,
--   or from 8.2 on with ACKED.
SELECT pipeline, reason, n FROM pending_subject WHERE name = 'stream-trimmed-pending' ORDER BY 1, 2;

WITH lost AS (
	SELECT *,
		CASE
		WHEN max_deleted = entry THEN 'deleted'
		WHEN max_deleted < entry THEN 'trimmed'
		WHEN entry > first_entry THEN 'deleted'
		ELSE 'trimmed or deleted'
		END AS cause
	FROM pending_case
	WHERE fault = 'stream-trimmed-pending')
SELECT pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key, NULL AS identity,
	stream, grp, consumer, id AS entry,
	printf('Entry %s of %s is pending in group %s%s, and is no longer in the stream: it was %s.%s', id, text,
		grp_text, iif(consumer IS NULL, '', ' at consumer ' || consumer_text), cause,
		iif(copied IS NULL, '', ' The dead-letter stream has a copy.')) AS detail,
	json_object('cause', cause, 'max_deleted', entry_text(max_deleted), 'first_entry', entry_text(first_entry),
		'added', added_at, 'delivered', delivered_at, 'idle_ms', idle_ms, 'deliveries', deliveries,
		'dlq', dlq, 'dlq_entry', entry_text(copy), 'linked_by', copied) AS evidence,
	iif(copied IS NULL,
		'Its content is lost unless the producer or the group''s results have it. When that is settled: ',
		printf('Look at the copy: redis-cli XRANGE %s %s %s ; then ', dlq_word, entry_text(copy),
			entry_text(copy)))
		|| printf('redis-cli XACK %s %s %s ; %s', word, grp_word, id,
			iif(cause = 'deleted', 'acknowledge entries before they are deleted',
				'trim by MINID below the oldest pending entry, or from 8.2 on with ACKED')) AS remedy
FROM lost
ORDER BY pipeline, stream, grp, lost.entry;

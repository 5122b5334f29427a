-- order: 640
-- subject: stream
-- title: entries that nobody finishes
-- severity: error
-- claim: A pending entry was last delivered less than `idle` ago. An entry that a consumer gave back is in nobody's
--   hands, and no subject until it is delivered again.
-- unverifiable: not-sampled, the group has more pending entries than pending.keys, and the entry is not among those
--   kept; not-looked-at, the pages of pending entries came to no end.
-- remedy: Let a consumer that is alive take the entries over with XAUTOCLAIM, or read its own again with XREADGROUP and
--   the id 0.
SELECT pipeline, reason, n FROM pending_subject WHERE name = 'stream-stuck' ORDER BY 1, 2;

SELECT pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key, NULL AS identity,
	stream, grp, consumer, id AS entry,
	printf('Entry %s of %s has been pending in group %s%s for %s, delivered %s%s.', id, text, grp_text,
		iif(consumer IS NULL, '', ' at consumer ' || consumer_text), idle_text, deliveries_text,
		CASE alive
		WHEN 1 THEN '; the consumer is alive'
		WHEN 0 THEN printf('; the consumer has not asked for anything for %s',
			iif(consumer_idle_ms < 10000, consumer_idle_ms || ' ms', (consumer_idle_ms / 1000) || ' s'))
		ELSE ''
		END) AS detail,
	json_object('idle_ms', idle_ms, 'idle_max_ms', idle_max_ms, 'delivered', delivered_at,
		'deliveries', deliveries, 'added', added_at, 'age_ms', age_ms,
		'consumer_alive', json(iif(alive IS NULL, 'null', iif(alive, 'true', 'false'))),
		'consumer_idle_ms', consumer_idle_ms, 'consumer_inactive_ms', consumer_inactive_ms,
		'consumer_pending', consumer_pending, 'dlq', dlq, 'dlq_entry', entry_text(copy), 'linked_by', copied)
		AS evidence,
	iif(copied IS NULL,
		printf('Let a consumer that is alive take it over: redis-cli XAUTOCLAIM %s %s CONSUMER %d %s COUNT 1 ; '
			|| 'with 0 for the id and a larger COUNT, all that are late. When its work is done: ', word,
			grp_word, idle_max_ms, id),
		printf('The dead-letter stream has a copy: redis-cli XRANGE %s %s %s ; if it is the same, ', dlq_word,
			entry_text(copy), entry_text(copy)))
		|| printf('redis-cli XACK %s %s %s', word, grp_word, id) AS remedy
FROM pending_case
WHERE fault = 'stream-stuck'
ORDER BY pipeline, stream, grp, pending_case.entry;

-- order: 650
-- subject: stream
-- title: pending entries that went away with their consumer
-- severity: error
-- claim: An entry that was pending at the look before is pending still, will be delivered again, is in the dead-letter
--   stream, or its group and consumer still stand, so that it can have been acknowledged. Deleting a consumer, or
--   creating a group anew, drops what is pending without a word.
-- unverifiable: maybe-acknowledged, it is not pending any more and its group and consumer are those of before;
--   not-sampled, it is not among the pending entries that were kept, then or now; not-looked-at, the pages of pending
--   entries came to no end, or the dead-letter stream could not be read. Without an earlier look there is nothing to examine.
-- remedy: Find out whether the work was done. If not, make the entry pending again with XCLAIM and FORCE. Claim what a
--   consumer holds before it is deleted.
WITH before AS (
	SELECT pipeline, lost, count(*) AS n FROM pending_before GROUP BY 1, 2
	UNION ALL
	SELECT b.pipeline, 'not-sampled', sum(old.listed - coalesce(old.kept, 0) - coalesce(old.acknowledged, 0))
	FROM group_before AS b
	JOIN stream_group AS old ON old.group_id = coalesce(b.whole_group, b.old_group)
	WHERE b.group_id IS NOT NULL OR b.present AND b.trouble IS NOT NULL
	GROUP BY 1)
SELECT watched.pipeline, iif(lost IN ('ok', 'fault'), NULL, lost) AS reason, coalesce(sum(n), 0) AS n
FROM watched
LEFT JOIN before ON before.pipeline = watched.pipeline
GROUP BY 1, 2;

SELECT b.pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key, NULL AS identity,
	b.redis_key AS stream, b.grp, c.name AS consumer, entry_text(p.entry) AS entry,
	printf('Entry %s of %s was pending in group %s at consumer %s in run %d; the consumer %s, and nothing shows '
		|| 'that the entry was acknowledged.', entry_text(p.entry), b.text, key_text(b.grp), key_text(c.name),
		then_group.run_id, iif(now.consumer_id IS NULL, 'is deleted', 'was deleted and made anew')) AS detail,
	json_object('run', then_group.run_id,
		'read', strftime('%Y-%m-%dT%H:%M:%fZ',
			iif(p.group_id = b.old_group, b.before_us, then_group.read_us) / 1000 / 1000.0, 'unixepoch'),
		'idle_ms', p.idle_ms, 'deliveries', p.deliveries, 'last_delivered', entry_text(b.delivered),
		'last_delivered_then', entry_text(b.old_delivered), 'pending_then', b.old_pending, 'pending', b.pending,
		'consumer_made_anew', json(iif(now.consumer_id IS NULL, 'false', 'true'))) AS evidence,
	printf('See what it is: redis-cli XRANGE %s %s %s ; if its work was not done, make it pending again: redis-cli '
		|| 'XCLAIM %s %s CONSUMER 0 %s FORCE', b.word, entry_text(p.entry), entry_text(p.entry), b.word,
		b.grp_word, entry_text(p.entry)) AS remedy
FROM pending_before AS lost
JOIN group_before AS b ON b.old_group = lost.old_group
JOIN pending AS p ON p.group_id = lost.pending_group AND p.entry = lost.entry
JOIN stream_group AS then_group ON then_group.group_id = p.group_id
JOIN stream_consumer AS c USING (consumer_id)
LEFT JOIN stream_consumer AS now ON now.group_id = b.group_id AND now.name = c.name
WHERE lost.lost = 'fault'
ORDER BY b.pipeline, b.redis_key, b.grp, p.entry;

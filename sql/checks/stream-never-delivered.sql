-- order: 665
-- subject: stream
-- title: entries that no consumer was given
-- severity: warning
-- claim: No more than `lag.max` entries wait to be given to the group, and the oldest of them is no older than
--   `backlog.age.max`. Where the server's count of the lag exceeds the length of the stream, the length counts.
-- unverifiable: lag-unknown, the server does not know the lag, or before version 7.4 may count it wrongly; age-unknown,
--   the group stands amid the stream, its newest entry is young enough, and the one the group would be given next is
--   not known; clock-unknown, the server's clock could not be read; ids-no-times, the ids of the entries are no times;
--   not-looked-at. Applies where one of the two is given.
-- remedy: If no consumer is active, start one, or delete the group with XGROUP DESTROY if nobody needs it; else add
--   consumers.
SELECT watched.pipeline, iif(never_delivered IN ('ok', 'fault'), NULL, never_delivered) AS reason,
	count(never_delivered) AS n
FROM watched
LEFT JOIN group_claim ON group_claim.pipeline = watched.pipeline
WHERE watched.lag_max IS NOT NULL OR watched.backlog_age_max_ms IS NOT NULL
GROUP BY 1, 2;

WITH late AS (
	SELECT *, server_ms - entry_ms(younger) AS age_ms,
		iif(entry_ms(younger) BETWEEN 1000000000000 AND 253402300799999,
			strftime('%Y-%m-%dT%H:%M:%fZ', entry_ms(younger) / 1000.0, 'unixepoch'), NULL) AS added_at
	FROM group_claim
	WHERE never_delivered = 'fault')
SELECT pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key, NULL AS identity,
	redis_key AS stream, grp, NULL AS consumer, NULL AS entry,
	printf('%s wait for group %s of %s%s%s.',
		coalesce(iif(waiting = 1, '1 entry', waiting || ' entries'), 'Entries'), grp_text, text,
		iif(by_age = 'fault', printf(', the oldest for %s%s', iif(first_entry > position, '', 'at least '),
			iif(age_ms < 10000, age_ms || ' ms', (age_ms / 1000) || ' s')), ''),
		iif(asked = 0, ', and no consumer is active: the group is abandoned', '')) AS detail,
	json_object('waiting', waiting, 'lag', told_lag, 'lag_max', lag_max, 'oldest_added', added_at,
		'age_ms', iif(by_age = 'fault', age_ms, NULL), 'backlog_age_max_ms', backlog_age_max_ms,
		'abandoned', json(iif(asked IS NULL, 'null', iif(asked, 'false', 'true'))), 'consumers', consumers,
		'last_delivered', entry_text(position), 'first_entry', entry_text(first_entry),
		'last_entry', entry_text(last_entry), 'length', length) AS evidence,
	printf(iif(asked = 0, 'Start consumers. If nobody needs the group any more: redis-cli XGROUP DESTROY %s %s',
		'Add consumers, or find out what holds up those of redis-cli XINFO CONSUMERS %s %s'), word, grp_word)
		AS remedy
FROM late
ORDER BY pipeline, stream, grp;

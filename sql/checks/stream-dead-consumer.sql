-- order: 660
-- subject: stream
-- title: consumers that hold entries and have stopped asking
-- severity: warning
-- claim: A consumer that holds pending entries has asked for some within `consumer.idle.max`. Before version 7.2 Redis
--   counts from the last time that it was given some.
-- unverifiable: not-looked-at, the consumers of the group could not be read. Applies where consumer.idle.max is given.
-- remedy: If it is gone for good, claim what it holds with XAUTOCLAIM, and delete it with XGROUP DELCONSUMER only when
--   it holds nothing: that drops what is pending.
WITH holder AS (
	SELECT pipeline, iif(c.idle_ms IS NULL, 'not-looked-at', NULL) AS reason, count(*) AS n
	FROM watched_group AS g
	JOIN stream_consumer AS c USING (group_id)
	WHERE c.pending > 0
	GROUP BY 1, 2
	UNION ALL
	SELECT pipeline, 'not-looked-at', consumers
	FROM watched_group AS g
	WHERE pending > 0 AND group_trouble IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM stream_consumer AS c WHERE c.group_id = g.group_id))
SELECT watched.pipeline, reason, coalesce(sum(n), 0) AS n
FROM watched
LEFT JOIN holder ON holder.pipeline = watched.pipeline
WHERE consumer_idle_max_ms IS NOT NULL
GROUP BY 1, 2;

WITH dead AS (
	SELECT g.*, c.name, c.pending AS holds, c.idle_ms AS silent_ms, c.inactive_ms, key_text(c.name) AS name_text,
		key_shell(c.name) AS name_word
	FROM watched_group AS g
	JOIN stream_consumer AS c USING (group_id)
	WHERE c.pending > 0 AND c.idle_ms > g.consumer_idle_max_ms)
SELECT pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key, NULL AS identity,
	redis_key AS stream, grp, name AS consumer, NULL AS entry,
	printf('Consumer %s of group %s of %s holds %d pending entr%s and has not asked for more for %s.', name_text,
		grp_text, text, holds, iif(holds = 1, 'y', 'ies'),
		iif(silent_ms < 10000, silent_ms || ' ms', (silent_ms / 1000) || ' s')) AS detail,
	json_object('pending', holds, 'idle_ms', silent_ms, 'inactive_ms', inactive_ms, 'consumer_idle_max_ms',
		consumer_idle_max_ms, 'last_asked',
		strftime('%Y-%m-%dT%H:%M:%fZ', (group_us / 1000 - silent_ms) / 1000.0, 'unixepoch')) AS evidence,
	printf('If it is gone for good, let a consumer that is alive take over what it holds: redis-cli XAUTOCLAIM %s '
		|| '%s CONSUMER %d 0 ; when nothing is left in redis-cli XPENDING %s %s - + 1 %s ; delete it: '
		|| 'redis-cli XGROUP DELCONSUMER %s %s %s', word, grp_word, idle_ms, word, grp_word, name_word, word,
		grp_word, name_word) AS remedy
FROM dead
ORDER BY pipeline, stream, grp, consumer;

-- order: 680
-- subject: stream
-- title: streams whose ids are ahead of the clock
-- severity: warning
-- claim: The newest id of a stream is no more than a minute ahead of the server's clock.
-- unverifiable: clock-unknown, the server's clock could not be read; not-looked-at.
-- remedy: The server's clock stepped back, or a producer gave an id of its own. New ids stick to the newest until the
--   clock has passed it: ages and trimming by MINID are wrong until then. Set the clock right, and let it slew rather
--   than step.
WITH judged AS (
	SELECT pipeline,
		CASE
		WHEN last_generated IS NULL THEN 'not-looked-at'
		WHEN server_ms IS NULL THEN 'clock-unknown'
		ELSE 'ok'
		END AS class
	FROM watched_stream
	WHERE role = 'source' AND present)
SELECT watched.pipeline, iif(class = 'ok', NULL, class) AS reason, count(class) AS n
FROM watched
LEFT JOIN judged ON judged.pipeline = watched.pipeline
GROUP BY 1, 2;

WITH ahead AS (
	SELECT *, entry_ms(last_generated) - server_ms AS ahead_ms
	FROM watched_stream
	WHERE role = 'source' AND entry_ms(last_generated) > server_ms + 60000)
SELECT pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key,
	entry_text(last_generated) AS identity, redis_key AS stream, NULL AS grp, NULL AS consumer, NULL AS entry,
	printf('The newest id of %s is %s, %d s ahead of the server''s clock.', text, entry_text(last_generated),
		ahead_ms / 1000) AS detail,
	json_object('last_generated', entry_text(last_generated), 'server',
		strftime('%Y-%m-%dT%H:%M:%fZ', server_ms / 1000.0, 'unixepoch'), 'ahead_ms', ahead_ms) AS evidence,
	printf('Compare redis-cli TIME ; with redis-cli XINFO STREAM %s ; and set the clock of the server right. Until '
		|| 'it has passed the newest id, new ids get the milliseconds of that one: do not trim by MINID, nor '
		|| 'judge ages by ids.', word) AS remedy
FROM ahead
ORDER BY pipeline, stream;

-- order: 675
-- subject: stream
-- title: streams that nobody trims
-- severity: warning
-- claim: A stream longer than `length.max` is trimmed: entries were removed from it.
-- unverifiable: deleted-or-trimmed, entries were removed, and some of them by their ids; not-looked-at. Applies where
--   length.max is given. Before version 7.0, a stream is taken for trimmed when its oldest entry is not that of the
--   look before.
-- remedy: Let the producers trim with XADD and MAXLEN or MINID, behind the slowest group.
WITH judged AS (
	SELECT s.pipeline,
		CASE
		WHEN s.length IS NULL THEN 'not-looked-at'
		WHEN s.length > s.length_max AND s.entries_added > s.length AND s.max_deleted > zeroblob(16)
			THEN 'deleted-or-trimmed'
		ELSE 'ok'
		END AS class
	FROM watched_stream AS s
	WHERE s.role = 'source' AND s.present)
SELECT watched.pipeline, iif(class = 'ok', NULL, class) AS reason, count(class) AS n
FROM watched
LEFT JOIN judged ON judged.pipeline = watched.pipeline
WHERE watched.length_max IS NOT NULL
GROUP BY 1, 2;

SELECT s.pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key, NULL AS identity,
	s.redis_key AS stream, NULL AS grp, NULL AS consumer, NULL AS entry,
	printf('The stream %s holds %d entries, more than %d, and %s.', s.text, s.length, s.length_max,
		iif(s.entries_added IS NULL, 'no trimming was seen', 'none was ever removed')) AS detail,
	json_object('length', s.length, 'length_max', s.length_max, 'entries_added', s.entries_added,
		'first_entry', entry_text(s.first_entry), 'max_deleted', entry_text(s.max_deleted)) AS evidence,
	printf('See where each group stands: redis-cli XINFO GROUPS %s ; let the producers trim, to a length that the '
		|| 'slowest never falls behind: XADD %s MAXLEN ''~'' %d ''*'' FIELD VALUE', s.word, s.word,
		s.length_max) AS remedy
FROM watched_stream AS s
LEFT JOIN stream AS old ON old.stream_id = s.before_id AND old.present
WHERE s.role = 'source' AND s.length > s.length_max
	AND iif(s.entries_added IS NULL, old.first_entry IS NULL OR old.first_entry = s.first_entry,
		s.entries_added = s.length)
ORDER BY s.pipeline, s.redis_key;

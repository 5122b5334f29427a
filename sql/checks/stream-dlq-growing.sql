-- order: 670
-- subject: stream
-- title: entries that were given up since the look before
-- severity: info
-- claim: The dead-letter stream got no entries since the look before. One finding a group that they came from, by the
--   first value in the entry that names a group; entries without such a value are counted together.
-- unverifiable: not-looked-at, the dead-letter stream could not be read, now or then. Without an earlier look there is
--   nothing to examine.
-- remedy: Read the entries and repair what made them fail.
WITH dlq AS (
	SELECT s.pipeline, iif(s.trouble IS NULL, NULL, 'not-looked-at') AS reason
	FROM watched_stream AS s
	WHERE s.role = 'dlq' AND s.before_id IS NOT NULL)
SELECT watched.pipeline, dlq.reason, count(dlq.pipeline) AS n
FROM watched
LEFT JOIN dlq ON dlq.pipeline = watched.pipeline
WHERE watched.dlq IS NOT NULL
GROUP BY 1, 2;

WITH grown AS (
	-- A dead-letter stream that was not there, or was made anew, is new from its first entry.
	SELECT s.*,
		iif(old.present AND old.last_generated <= s.last_generated, old.last_generated, zeroblob(16))
			AS since,
		iif(old.present AND old.entries_added <= s.entries_added, s.entries_added - old.entries_added, NULL)
			AS added
	FROM watched_stream AS s
	JOIN stream AS old ON old.stream_id = s.before_id
	WHERE s.role = 'dlq' AND s.present AND s.trouble IS NULL
), came AS (
	SELECT g.*, d.grp, count(*) AS n, min(d.entry) AS first_new, max(d.entry) AS last_new,
		count(d.source) AS with_source
	FROM grown AS g
	JOIN stream_dlq_entry AS d ON d.stream_id = g.stream_id AND d.entry > g.since
	GROUP BY g.stream_id, d.grp)
SELECT pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key,
	entry_text(since) AS identity, redis_key AS stream, grp, NULL AS consumer, NULL AS entry,
	printf('%d entr%s came to %s%s since run %d.', n, iif(n = 1, 'y', 'ies'), text,
		coalesce(' from group ' || key_text(grp), ''), before_run) AS detail,
	json_object('entries', n, 'with_source', with_source, 'first', entry_text(first_new),
		'last', entry_text(last_new), 'run', before_run, 'since', entry_text(since), 'length', length,
		'listed', listed, 'added_in_all', added) AS evidence,
	printf('Read them: redis-cli XRANGE %s %s %s', word, entry_text(first_new), entry_text(last_new)) AS remedy
FROM came
ORDER BY pipeline, stream, grp;

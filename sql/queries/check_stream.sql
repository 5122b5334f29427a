-- What is wrong with streams, their groups and their pending entries, decided in this one place; the files stream-*.sql
-- only tell it. In a column of claims
--     NULL     it is no subject of the claim
--     ok       the claim holds
--     fault    it is broken
--     other    it cannot be decided, and this is the reason
--
-- The stream was read before its groups, and a group before its pending entries: an entry that was gone from the stream
-- and lies above the group's last-delivered-id can never be delivered.

-- The watches, with their word as a scope. word: a name as a shell takes it.
CREATE TEMP TABLE watched AS
SELECT watch_id, 'streams/' || name AS pipeline, name, redis, group_name, excluded, idle_ms, deliveries, dlq,
	key_shell(dlq) AS dlq_word, lag_max, backlog_age_max_ms, consumer_idle_max_ms, length_max
FROM stream_watch
WHERE run_id = ?1;

-- The server of each watch, then and now: what makes an older look at it no measure of a newer one.
CREATE TEMP TABLE watched_server AS
SELECT run_id, address, max(server_id) AS server_id, role, version, process, replid, replid2, second_repl_offset,
	-- Before 7.4 entries-read reached neither replicas nor the append-only file: a server that was a replica, or
	-- began with such a file and what had been written into it as a snapshot, may know it wrongly.
	coalesce(CAST(substr(version, 1, instr(version, '.') - 1) AS INTEGER) > 7
		OR version GLOB '7.[4-9]*' OR version GLOB '7.[1-9][0-9]*'
		OR role = 'master' AND second_repl_offset < 0 AND EXISTS (
			SELECT 1 FROM redis_info AS i
			WHERE i.server_id = redis_server.server_id AND i.value = '0'
				AND i.name IN ('aof_enabled', 'rdb_last_load_keys_loaded')), 0) AS counts_reads
FROM redis_server
WHERE address IN (SELECT redis FROM watched)
GROUP BY run_id, address;

-- Streams, with the newest earlier look at each. doubt: why that look is no measure of this one; NULL: it is.
CREATE TEMP TABLE watched_stream AS
WITH earlier AS (
	-- max() makes SQLite take the other columns from the row that holds it.
	SELECT now.stream_id, max(old.run_id) AS before_run, old.stream_id AS before_id, old_watch.group_name,
		old_watch.excluded
	FROM watched
	JOIN stream AS now USING (watch_id)
	JOIN stream_watch AS old_watch ON old_watch.name = watched.name AND old_watch.redis = watched.redis
		AND old_watch.run_id < ?1
	JOIN stream AS old ON old.watch_id = old_watch.watch_id AND old.role = now.role
		AND old.redis_key = now.redis_key AND (old.trouble IS NULL OR NOT old.present)
	GROUP BY now.stream_id)
SELECT watched.pipeline, watched.idle_ms, watched.deliveries, watched.dlq, watched.dlq_word, watched.lag_max,
	watched.backlog_age_max_ms, watched.consumer_idle_max_ms, watched.length_max,
	stream.*,
	key_shell(redis_key) AS word,
	key_text(redis_key) AS text,
	coalesce(server.counts_reads, 0) AS counts_reads, server.server_id IS NOT NULL AS server_known,
	before_id, before_run,
	earlier.group_name = watched.group_name AND earlier.excluded = watched.excluded AS same_groups,
	CASE
	WHEN server.replid IS NULL OR old_server.replid IS NULL THEN 'server-unknown'
	WHEN server.role IS NOT old_server.role THEN 'failed-over'
	WHEN server.replid <> old_server.replid AND server.replid2 = old_server.replid
		AND server.second_repl_offset >= 0 THEN 'failed-over'
	WHEN server.process IS NOT old_server.process THEN 'restarted'
	WHEN server.replid = old_server.replid THEN NULL
	-- A master gives its history another name when no replica has asked for it for long.
	WHEN server.role = 'master' AND server.second_repl_offset = -1 THEN NULL
	ELSE 'replaced'
	END AS doubt
FROM watched
JOIN stream USING (watch_id)
LEFT JOIN earlier USING (stream_id)
LEFT JOIN watched_server AS server ON server.run_id = ?1 AND server.address = watched.redis
LEFT JOIN watched_server AS old_server ON old_server.run_id = before_run AND old_server.address = watched.redis;

-- Groups of this run, each with its stream. A group that the config names and the stream does not have is a row without
-- last-delivered-id.
CREATE TEMP TABLE watched_group AS
SELECT s.*, g.group_id, g.name AS grp, g.trouble AS group_trouble, g.read_us AS group_us, g.consumers, g.pending,
	g.last_delivered, g.entries_read, g.lag, g.last_delivered_after, g.lag_after, g.threshold, g.listed AS pages,
	g.kept, g.acknowledged,
	key_shell(g.name) AS grp_word, key_text(g.name) AS grp_text
FROM watched_stream AS s
CROSS JOIN stream_group AS g ON g.stream_id = s.stream_id
WHERE s.role = 'source' AND g.last_delivered IS NOT NULL;

-- --- pending entries -------------------------------------------------------------------------------------------

-- A pending entry that is trimmed is neither poison nor stuck, one that is poison is not stuck.
CREATE TEMP VIEW pending_claim AS
SELECT g.pipeline, g.group_id, p.entry, p.present,
	CASE
	WHEN p.present = 0 THEN 'stream-trimmed-pending'
	WHEN p.deliveries > g.deliveries OR p.deliveries = g.deliveries AND p.idle_ms >= g.idle_ms THEN 'stream-poison'
	WHEN p.idle_ms >= g.idle_ms THEN 'stream-stuck'
	END AS fault
FROM watched_group AS g
CROSS JOIN pending AS p USING (group_id);

CREATE TEMP TABLE pending_fault (group_id INTEGER, entry BLOB, fault TEXT);
INSERT INTO pending_fault
SELECT group_id, entry, fault FROM pending_claim WHERE fault IS NOT NULL;
CREATE INDEX temp.pending_fault_fault ON pending_fault (fault);

-- What the first statement of the three checks tells.
CREATE TEMP TABLE pending_subject (name TEXT, pipeline TEXT, reason TEXT, n INTEGER);
INSERT INTO pending_subject
WITH way AS (
	SELECT pipeline, coalesce(fault, '') AS fault, present IS NULL AS unseen, count(*) AS n
	FROM pending_claim
	GROUP BY 1, 2, 3
), rest AS (
	SELECT pipeline, iif(threshold = 9223372036854775807, 'not-looked-at', 'not-sampled') AS reason,
		pages - coalesce(kept, 0) - coalesce(acknowledged, 0) AS n
	FROM watched_group
	UNION ALL
	SELECT pipeline, 'not-looked-at', pending - coalesce(pages, 0)
	FROM watched_group
	WHERE group_trouble IS NOT NULL OR pages IS NULL
), subject AS (
	SELECT 'stream-trimmed-pending' AS name, pipeline, iif(unseen, 'not-looked-at', NULL) AS reason, n FROM way
	UNION ALL SELECT 'stream-poison', pipeline, NULL, n FROM way WHERE fault <> 'stream-trimmed-pending'
	UNION ALL SELECT 'stream-stuck', pipeline, NULL, n FROM way WHERE fault IN ('', 'stream-stuck')
	UNION ALL SELECT value, pipeline, reason, n
	FROM rest
	JOIN json_each('["stream-trimmed-pending","stream-poison","stream-stuck"]')
	WHERE n > 0
	UNION ALL SELECT value, pipeline, NULL, 0
	FROM watched
	JOIN json_each('["stream-trimmed-pending","stream-poison","stream-stuck"]'))
SELECT name, pipeline, reason, sum(n) FROM subject GROUP BY name, pipeline, reason;

-- A faulty entry and all that a finding tells of it. copied: how a dead-letter stream shows that it was moved there, by
-- its id or by its content; NULL: it does not, as far as it was read: dlq_unread tells whether it was not, or not all of
-- it. Ids below 2001 are no times.
CREATE TEMP VIEW pending_case AS
SELECT fault.fault, g.pipeline, g.stream_id, g.redis_key AS stream, g.text, g.word, g.grp, g.grp_text, g.grp_word,
	coalesce(c.name, p.consumer) AS consumer, coalesce(key_text(coalesce(c.name, p.consumer)), '') AS consumer_text,
	p.entry, entry_text(p.entry) AS id, p.idle_ms, p.deliveries, g.idle_ms AS idle_max_ms,
	g.deliveries AS deliveries_max, g.dlq, g.dlq_word, g.first_entry, g.max_deleted,
	c.idle_ms AS consumer_idle_ms, c.inactive_ms AS consumer_inactive_ms, c.pending AS consumer_pending,
	c.idle_ms < coalesce(g.consumer_idle_max_ms, g.idle_ms) AS alive,
	iif(p.idle_ms < 10000, p.idle_ms || ' ms', (p.idle_ms / 1000) || ' s') AS idle_text,
	printf('%d time%s', p.deliveries, iif(p.deliveries = 1, '', 's')) AS deliveries_text,
	strftime('%Y-%m-%dT%H:%M:%fZ', (g.group_us / 1000 - p.idle_ms) / 1000.0, 'unixepoch') AS delivered_at,
	iif(entry_ms(p.entry) >= 1000000000000, g.server_ms - entry_ms(p.entry), NULL) AS age_ms,
	iif(entry_ms(p.entry) BETWEEN 1000000000000 AND 253402300799999,
		strftime('%Y-%m-%dT%H:%M:%fZ', entry_ms(p.entry) / 1000.0, 'unixepoch'), NULL) AS added_at,
	dlq.trouble IS NOT NULL OR dlq.listed < dlq.length OR g.dlq IS NOT NULL AND dlq.stream_id IS NULL AS dlq_unread,
	dead.entry AS copy, iif(dead.entry IS NULL, NULL, iif(dead.source = p.entry, 'id', 'content')) AS copied
FROM pending_fault AS fault
CROSS JOIN watched_group AS g USING (group_id)
CROSS JOIN pending AS p ON p.group_id = fault.group_id AND p.entry = fault.entry
LEFT JOIN stream_consumer AS c USING (consumer_id)
LEFT JOIN stream AS dlq ON dlq.watch_id = g.watch_id AND dlq.role = 'dlq'
LEFT JOIN stream_dlq_entry AS dead ON dead.stream_id = dlq.stream_id AND dead.entry = coalesce(
	(SELECT d.entry FROM stream_dlq_entry AS d
	 WHERE d.stream_id = dlq.stream_id AND d.source = p.entry AND (d.grp IS NULL OR d.grp = g.grp) LIMIT 1),
	(SELECT d.entry FROM stream_dlq_entry AS d
	 WHERE d.stream_id = dlq.stream_id AND d.content = p.content
	 	AND (d.source IS NULL OR entry_ms(d.source) < 1000000000000)
	 	AND (d.grp IS NULL OR d.grp = g.grp)
	 LIMIT 1));

-- --- groups of this run ----------------------------------------------------------------------------------------

-- position: what waits for the group lies above it, as it was when the group was last read.
CREATE TEMP TABLE group_claim AS
WITH seen AS (
	SELECT g.*, coalesce(g.last_delivered_after, g.last_delivered) AS position,
		coalesce(g.lag_after, g.lag) AS told_lag, g.entries_added - g.length AS removed,
		-- Entries that an earlier look saw, that nobody gave to the group since, and that the stream has no
		-- more. None of what was removed since then had been given to the group.
		CASE
		WHEN old.entries_added <= g.entries_added AND old.last_generated <= g.last_generated
			AND old.first_entry > g.last_delivered AND old_group.last_delivered <= g.last_delivered
			AND coalesce(old.first_entry < g.first_entry, g.length = 0)
			AND g.max_deleted <= g.last_delivered
		THEN (g.entries_added - g.length) - (old.entries_added - old.length)
		END AS seen_lost
	FROM watched_group AS g
	LEFT JOIN stream AS old ON old.stream_id = g.before_id AND old.present
	LEFT JOIN stream_group AS old_group ON old_group.stream_id = old.stream_id AND old_group.name = g.grp
), backlog AS (
	SELECT *,
		CASE
		WHEN position >= last_generated OR length = 0 OR last_entry <= position THEN 0
		WHEN first_entry > position THEN length
		WHEN told_lag >= 0 AND counts_reads THEN min(told_lag, length)
		END AS waiting,
		-- The oldest that waits is at least as old as the one, and at most as the other.
		CASE
		WHEN position >= last_generated OR length = 0 OR last_entry <= position THEN NULL
		WHEN first_entry > position THEN first_entry
		ELSE last_entry
		END AS younger,
		CASE
		WHEN position >= last_generated OR length = 0 OR last_entry <= position THEN NULL
		WHEN first_entry > position THEN first_entry
		ELSE position
		END AS older
	FROM seen
), judged AS (
	SELECT *,
		CASE
		WHEN lag_max IS NULL THEN NULL
		WHEN position IS NULL OR length IS NULL THEN 'not-looked-at'
		WHEN waiting > lag_max THEN 'fault'
		WHEN waiting IS NULL AND length > lag_max THEN 'lag-unknown'
		ELSE 'ok'
		END AS by_lag,
		CASE
		WHEN backlog_age_max_ms IS NULL THEN NULL
		WHEN position IS NULL OR length IS NULL THEN 'not-looked-at'
		WHEN younger IS NULL THEN 'ok'
		WHEN server_ms IS NULL THEN 'clock-unknown'
		WHEN entry_ms(last_entry) < 1000000000000 THEN 'ids-no-times'
		WHEN entry_ms(younger) >= 1000000000000 AND server_ms - entry_ms(younger) > backlog_age_max_ms
			THEN 'fault'
		WHEN entry_ms(older) >= 1000000000000 AND server_ms - entry_ms(older) <= backlog_age_max_ms
			THEN 'ok'
		ELSE 'age-unknown'
		END AS by_age
	FROM backlog)
SELECT *,
	CASE
	WHEN 'fault' IN (by_lag, by_age) THEN 'fault'
	WHEN by_lag NOT IN ('ok') THEN by_lag
	ELSE coalesce(by_age, by_lag)
	END AS never_delivered,
	CASE
	WHEN last_delivered IS NULL OR length IS NULL THEN 'not-looked-at'
	WHEN last_delivered >= last_generated OR first_entry <= last_delivered THEN 'ok'
	WHEN entries_added IS NULL OR max_deleted IS NULL THEN 'server-too-old'
	WHEN removed = 0 THEN 'ok'
	WHEN seen_lost > 0 THEN 'fault'
	WHEN entries_read IS NULL THEN 'entries-read-unknown'
	WHEN NOT server_known THEN 'server-unknown'
	WHEN NOT counts_reads THEN 'entries-read-stale'
	WHEN removed - entries_read <= 0 THEN 'ok'
	WHEN max_deleted > zeroblob(16) THEN 'entries-deleted'
	ELSE 'fault'
	END AS trimmed_undelivered,
	coalesce(seen_lost, removed - entries_read) AS lost,
	-- Whether some consumer asks; NULL: not known.
	CASE
	WHEN group_trouble IS NOT NULL THEN NULL
	ELSE (SELECT coalesce(max(coalesce(c.idle_ms < coalesce(judged.consumer_idle_max_ms, judged.idle_ms), 1)), 0)
		FROM stream_consumer AS c WHERE c.group_id = judged.group_id)
	END AS asked
FROM judged;

-- --- compared with the look before -----------------------------------------------------------------------------

-- Groups of the look before, and streams that had none then (old_group NULL). kind: what fell. whole_group: where that
-- look did not come to the end of what was pending, the group in the newest one that did.
CREATE TEMP TABLE group_before AS
WITH pair AS (
	SELECT s.pipeline, s.stream_id, s.redis_key, s.text, s.word, s.present, s.trouble, s.last_generated,
		s.entries_added, s.same_groups, s.doubt, s.before_run, s.dlq_word, old.read_us AS before_us,
		old.last_generated AS old_generated, old.entries_added AS old_added,
		old_group.group_id AS old_group, old_group.name AS grp,
		iif(old_group.trouble IS NULL, NULL, (
			SELECT max(g.group_id)
			FROM stream_watch AS old_watch
			JOIN stream_watch AS w ON w.name = old_watch.name AND w.redis = old_watch.redis
				AND w.run_id < old_watch.run_id
			JOIN stream AS st ON st.watch_id = w.watch_id AND st.role = old.role AND st.redis_key = old.redis_key
				AND st.last_generated <= old.last_generated
				AND coalesce(st.entries_added <= old.entries_added, 1)
			JOIN stream_group AS g ON g.stream_id = st.stream_id AND g.name = old_group.name
				AND g.trouble IS NULL AND g.kept IS NOT NULL
			WHERE old_watch.watch_id = old.watch_id)) AS whole_group,
		key_shell(old_group.name) AS grp_word,
		coalesce(old_group.last_delivered_after, old_group.last_delivered) AS old_delivered,
		coalesce(old_group.entries_read_after, old_group.entries_read) AS old_read,
		coalesce(old_group.pending_after, old_group.pending) AS old_pending,
		now.group_id, now.trouble AS group_trouble, now.entries_read, now.pending, now.threshold, now.kept,
		min(now.last_delivered, coalesce(now.last_delivered_after, now.last_delivered)) AS delivered
	FROM watched_stream AS s
	JOIN stream AS old ON old.stream_id = s.before_id AND old.present
	LEFT JOIN stream_group AS old_group ON old_group.stream_id = old.stream_id
		AND old_group.last_delivered IS NOT NULL
	LEFT JOIN stream_group AS now ON now.stream_id = s.stream_id AND now.name = old_group.name
		AND now.last_delivered IS NOT NULL
	WHERE s.role = 'source'
), told AS (
	SELECT *,
		CASE
		WHEN NOT present THEN 'stream-vanished'
		WHEN last_generated < old_generated OR entries_added < old_added THEN 'stream-recreated'
		WHEN old_group IS NULL OR last_generated IS NULL THEN NULL
		WHEN group_id IS NULL AND trouble IS NULL AND same_groups THEN 'group-vanished'
		WHEN delivered < old_delivered THEN 'last-delivered-fell'
		WHEN entries_read < old_read AND doubt IS NULL THEN 'entries-read-fell'
		END AS kind
	FROM pair)
SELECT *,
	CASE
	WHEN kind IS NOT NULL THEN 'fault'
	WHEN last_generated IS NULL OR old_generated IS NULL THEN 'not-looked-at'
	WHEN old_group IS NULL THEN coalesce(doubt, 'ok')
	WHEN group_id IS NULL AND trouble IS NULL THEN 'watch-changed'
	WHEN group_id IS NULL THEN 'not-looked-at'
	ELSE coalesce(doubt, 'ok')
	END AS behind
FROM told;

-- Entries that were pending at the look before, of groups that still stand. One that the stream no longer had then was
-- told then.
CREATE TEMP TABLE pending_before AS
SELECT b.pipeline, b.stream_id, b.old_group, p.group_id AS pending_group, p.entry,
	CASE
	WHEN EXISTS (SELECT 1 FROM pending AS now WHERE now.group_id = b.group_id AND now.entry = p.entry) THEN 'ok'
	WHEN b.group_trouble IS NOT NULL OR b.kept IS NULL THEN 'not-looked-at'
	WHEN b.threshold < 9223372036854775807 AND xxh3(p.entry) >= b.threshold THEN 'not-sampled'
	WHEN p.entry > b.delivered THEN 'ok'
	WHEN EXISTS (
		SELECT 1
		FROM stream AS here
		JOIN stream AS dlq ON dlq.watch_id = here.watch_id AND dlq.role = 'dlq'
		JOIN stream_dlq_entry AS d ON d.stream_id = dlq.stream_id
			AND (d.source = p.entry OR d.content = p.content
				AND (d.source IS NULL OR entry_ms(d.source) < 1000000000000))
			AND (d.grp IS NULL OR d.grp = b.grp)
		WHERE here.stream_id = b.stream_id) THEN 'ok'
	WHEN p.consumer_id IS NULL THEN 'maybe-acknowledged'
	WHEN EXISTS (
		SELECT 1 FROM stream_consumer AS now
		WHERE now.group_id = b.group_id AND now.name = c.name
			AND (now.inactive_ms IS NOT -1 OR b.doubt IS NOT NULL)) THEN 'maybe-acknowledged'
	WHEN EXISTS (
		SELECT 1
		FROM stream AS here
		JOIN stream AS dlq ON dlq.watch_id = here.watch_id AND dlq.role = 'dlq' AND dlq.trouble IS NOT NULL
		WHERE here.stream_id = b.stream_id) THEN 'not-looked-at'
	ELSE 'fault'
	END AS lost
FROM group_before AS b
CROSS JOIN pending AS p ON p.group_id IN (b.old_group, b.whole_group)
LEFT JOIN stream_consumer AS c USING (consumer_id)
WHERE (b.group_id IS NOT NULL OR b.present AND b.trouble IS NOT NULL) AND b.kind IS NOT 'stream-recreated'
	AND p.present IS NOT 0
	AND (p.group_id = b.old_group OR NOT EXISTS (
		SELECT 1 FROM pending AS newer WHERE newer.group_id = b.old_group AND newer.entry = p.entry));

-- order: 720
-- subject: server
-- title: servers that would lose state with their process
-- severity: warning
-- claim: What a server holds outlives its process: the last write of its AOF and its last RDB succeeded; a master has
--   an AOF, or replicas and an RDB that is recent. Recent is no older than two hours by the server's clock, because the
--   standard settings save a changed server every hour, or as new as the last change. A replica needs no file of its
--   own.
-- unverifiable: info-incomplete, INFO does not tell of persistence.
-- remedy: CONFIG SET appendonly yes, and appendonly yes with appendfsync everysec in redis.conf: a crash then loses at
--   most a second. Where a write failed, look at the server's log and at the space on its disk; then BGREWRITEAOF or
--   BGSAVE. A service that forbids CONFIG has a setting of its own for it.
WITH server AS (
	SELECT *, coalesce(server_us, read_us) / 1000000 - rdb_saved_s AS saved_ago_s
	FROM server_row
	WHERE earlier = 0
)
SELECT scope AS pipeline,
	iif(role IS NULL OR aof IS NULL OR rdb_status IS NULL OR role = 'master' AND aof = 0 AND rdb_status = 'ok'
		AND (replicas IS NULL OR rdb_changes IS NULL OR saved_ago_s IS NULL), 'info-incomplete', NULL) AS reason,
	1 AS n
FROM server;

WITH server AS (
	SELECT *, coalesce(server_us, read_us) / 1000000 - rdb_saved_s AS saved_ago_s,
		(SELECT value FROM redis_setting AS s WHERE s.server_id = server_row.server_id AND name = 'save')
			AS save,
		(SELECT value FROM redis_setting AS s WHERE s.server_id = server_row.server_id AND name = 'appendfsync')
			AS appendfsync
	FROM server_row
	WHERE earlier = 0
), judged AS (
	SELECT *,
		CASE
		WHEN aof = 1 AND aof_write <> 'ok' THEN 'aof-failed'
		WHEN aof = 1 AND aof_rewrite <> 'ok' THEN 'aof-rewrite-failed'
		WHEN rdb_status <> 'ok' THEN 'rdb-failed'
		WHEN role <> 'master' OR aof = 1 THEN NULL
		WHEN replicas = 0 THEN 'alone'
		WHEN rdb_changes = 0 THEN NULL
		-- without one, INFO gives the time of the start for that of the last
		WHEN save = '' AND rdb_took_s = -1 AND saved_ago_s >= uptime_s - 2 THEN 'never-saved'
		WHEN saved_ago_s > 7200 THEN 'old-rdb'
		END AS kind
	FROM server
)
SELECT scope AS pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key,
	kind AS identity,
	CASE kind
	WHEN 'aof-failed' THEN printf('%s could not write its AOF at the last try.', scope)
	WHEN 'aof-rewrite-failed' THEN printf('%s could not rewrite its AOF at the last try.', scope)
	WHEN 'rdb-failed' THEN printf('%s could not save an RDB at the last try.', scope)
	WHEN 'alone' THEN printf('%s is a master without AOF and without replicas: a crash loses what was written since '
		|| 'its last RDB.', scope)
	WHEN 'never-saved' THEN printf('%s has no AOF, saves no RDB by itself and has made none since it was started.',
		scope)
	ELSE printf('%s has no AOF, and its last RDB is %d minutes old, with %d changes since.', scope,
		saved_ago_s / 60, rdb_changes)
	END AS detail,
	json_object('kind', kind, 'role', role, 'replicas', replicas, 'aof_enabled', aof, 'aof_last_write_status', aof_write,
		'aof_last_bgrewrite_status', aof_rewrite, 'rdb_last_bgsave_status', rdb_status,
		'rdb_last_save', strftime('%Y-%m-%dT%H:%M:%SZ', rdb_saved_s, 'unixepoch'),
		'rdb_changes_since_last_save', rdb_changes, 'save', save, 'appendfsync', appendfsync,
		'settings_trouble', settings_trouble) AS evidence
FROM judged
WHERE kind IS NOT NULL
ORDER BY scope;

-- What checks of servers read: a server of this run once, whatever databases of it were looked at, beside the newest
-- earlier run that saw the same address, and what became of it since.

-- INFO of the servers of both runs as numbers. NULL: the server does not say.
CREATE TEMP TABLE server_row AS
WITH host AS (
	SELECT server_id, run_id, 'redis/' || rtrim(rtrim(address, '0123456789'), '/') AS scope
	FROM redis_server WHERE run_id <= ?1
), here AS (
	SELECT scope, min(server_id) AS server_id FROM host WHERE run_id = ?1 GROUP BY scope
), both AS (
	SELECT scope, server_id, 0 AS earlier FROM here
	UNION ALL
	SELECT scope, (SELECT then_host.server_id FROM host AS then_host
		WHERE then_host.scope = here.scope AND then_host.run_id < ?1
		ORDER BY then_host.run_id DESC, then_host.server_id LIMIT 1), 1
	FROM here
)
SELECT both.scope, both.earlier, s.server_id, s.run_id, s.read_us, s.role, s.version, s.process, s.replid, s.replid2,
	s.repl_offset, s.second_repl_offset, s.uptime_s, s.server_us, s.host_us, s.answered_in_us, s.settings_trouble,
	sum(CASE WHEN i.name GLOB 'db[0-9]*' AND i.value GLOB 'keys=*' THEN CAST(substr(i.value, 6) AS INTEGER)
		ELSE 0 END) AS keys,
	max(iif(i.name = 'maxmemory', CAST(i.value AS INTEGER), NULL)) AS maxmemory,
	max(iif(i.name = 'maxmemory_policy', i.value, NULL)) AS policy,
	max(iif(i.name = 'evicted_keys', CAST(i.value AS INTEGER), NULL)) AS evicted,
	max(iif(i.name = 'expired_keys', CAST(i.value AS INTEGER), NULL)) AS expired,
	max(iif(i.name = 'expired_subkeys', CAST(i.value AS INTEGER), NULL)) AS expired_fields,
	max(iif(i.name = 'aof_enabled', CAST(i.value AS INTEGER), NULL)) AS aof,
	max(iif(i.name = 'aof_last_write_status', i.value, NULL)) AS aof_write,
	max(iif(i.name = 'aof_last_bgrewrite_status', i.value, NULL)) AS aof_rewrite,
	max(iif(i.name = 'rdb_last_bgsave_status', i.value, NULL)) AS rdb_status,
	max(iif(i.name = 'rdb_last_bgsave_time_sec', CAST(i.value AS INTEGER), NULL)) AS rdb_took_s,
	max(iif(i.name = 'rdb_last_save_time', CAST(i.value AS INTEGER), NULL)) AS rdb_saved_s,
	max(iif(i.name = 'rdb_changes_since_last_save', CAST(i.value AS INTEGER), NULL)) AS rdb_changes,
	max(iif(i.name = 'rdb_last_load_keys_loaded', CAST(i.value AS INTEGER), NULL)) AS loaded,
	max(iif(i.name = 'rdb_last_load_keys_expired', CAST(i.value AS INTEGER), NULL)) AS load_expired,
	max(iif(i.name = 'connected_slaves', CAST(i.value AS INTEGER), NULL)) AS replicas,
	max(iif(i.name = 'min_slaves_good_slaves', CAST(i.value AS INTEGER), NULL)) AS good_replicas,
	max(iif(i.name = 'master_link_status', i.value, NULL)) AS link,
	max(iif(i.name = 'master_last_io_seconds_ago', CAST(i.value AS INTEGER), NULL)) AS link_idle_s,
	max(iif(i.name = 'cluster_enabled', CAST(i.value AS INTEGER), NULL)) AS cluster
FROM both
JOIN redis_server AS s USING (server_id)
LEFT JOIN redis_info AS i USING (server_id)
GROUP BY both.scope, both.earlier;

-- What became of each server of this run; NULL: it was not seen before.
--     unchanged     the same process and history; or the same history in another of its replicas; or a lone master that
--                   gave its history a new name because no replica had asked for it for long
--     restarted     another process, begun since, with the data of the old one as far as anyone can tell
--     promoted      it continues the history of then under a new name: a replica became the master
--     role-changed  a master is a replica now, or the other way round, with a history that may be another one
--     replaced      another data set answers
-- begun: whether it is another process, which began after the earlier run looked; INFO counts whole seconds.
CREATE TEMP TABLE server_change AS
SELECT n.scope, n.server_id, b.server_id AS before_id, n.process <> b.process
		AND n.read_us - n.uptime_s * 1000000 >= b.read_us - 2000000 AS begun,
	CASE
	WHEN b.server_id IS NULL THEN NULL
	WHEN n.replid IS NULL OR b.replid IS NULL OR n.process IS NULL OR b.process IS NULL
		OR n.role IS NULL OR b.role IS NULL THEN 'unknown'
	WHEN n.replid <> b.replid AND n.replid2 = b.replid AND n.second_repl_offset >= 0 THEN 'promoted'
	WHEN n.role <> b.role THEN 'role-changed'
	WHEN n.process = b.process THEN CASE
		WHEN n.replid = b.replid THEN 'unchanged'
		WHEN n.role = 'master' AND n.second_repl_offset = -1 THEN 'unchanged'
		ELSE 'replaced'
		END
	WHEN n.uptime_s IS NULL THEN 'unknown'
	-- it ran already when the other one was looked at
	WHEN n.read_us - n.uptime_s * 1000000 < b.read_us - 2000000 THEN
		iif(n.replid = b.replid AND n.role = 'slave', 'unchanged', 'replaced')
	WHEN n.replid = b.replid THEN
		iif(n.role = 'master' AND n.repl_offset < b.repl_offset, 'replaced', 'restarted')
	WHEN n.keys * 2 < b.keys THEN 'replaced'
	ELSE 'restarted'
	END AS change
FROM server_row AS n
LEFT JOIN server_row AS b ON b.scope = n.scope AND b.earlier = 1
WHERE n.earlier = 0;

-- Pipelines and the server that holds their fences; how many of these moved back, or are gone.
CREATE TEMP TABLE server_pipeline AS
SELECT 'redis/' || rtrim(rtrim(pipeline.redis, '0123456789'), '/') AS scope, pipeline.pipeline_id,
	pipeline.name AS pipeline, coalesce(sum(fence_way.n), 0) AS fences,
	coalesce(sum(iif(fence_way.regressed = 'fault', fence_way.n, 0)), 0) AS regressed,
	coalesce(sum(iif(fence_way.missing = 'fault', fence_way.n, 0)), 0) AS missing
FROM pipeline
LEFT JOIN fence_way ON fence_way.pipeline = pipeline.name
WHERE pipeline.run_id = ?1 AND pipeline.redis IS NOT NULL
GROUP BY pipeline.pipeline_id;

-- Topics with missing fences, and what they were when their fences were last looked at.
CREATE TEMP TABLE server_topic AS
SELECT p.scope, t.topic_id, (
	SELECT max(then_topic.topic_id)
	FROM topic AS then_topic
	JOIN pipeline AS then_pipeline USING (pipeline_id)
	WHERE then_topic.incarnation_id = t.incarnation_id AND then_topic.run_id < ?1 AND then_topic.role = 'source'
		AND then_pipeline.name = p.pipeline AND then_topic.main_threshold IS NOT NULL) AS then_topic_id
FROM server_pipeline AS p
JOIN topic AS t ON t.pipeline_id = p.pipeline_id AND t.role = 'source'
WHERE p.missing > 0;

-- Fences that had a time to live then, and when it ran out.
CREATE TEMP TABLE server_ttl (topic_id INTEGER, redis_key BLOB, end_us INTEGER, PRIMARY KEY (topic_id, redis_key))
	WITHOUT ROWID;
INSERT OR IGNORE INTO server_ttl
SELECT topic_id, redis_key, sampled_us + 1000 * CASE
	WHEN ttl_ms >= 0 AND field_ttl_ms >= 0 THEN min(ttl_ms, field_ttl_ms)
	WHEN ttl_ms >= 0 THEN ttl_ms
	ELSE field_ttl_ms
	END
FROM fence
WHERE topic_id IN (SELECT then_topic_id FROM server_topic) AND present AND (ttl_ms >= 0 OR field_ttl_ms >= 0);

-- Missing fences whose time to live has run out by now; and fences that stand with one.
CREATE TEMP TABLE server_timed AS
SELECT scope, sum(run_out) AS run_out, sum(standing) AS standing
FROM (
	SELECT s.scope, count(*) AS run_out, 0 AS standing
	FROM server_topic AS s
	CROSS JOIN fence_fault ON fence_fault.topic_id = s.topic_id AND fence_fault.fault = 'fence-missing'
	CROSS JOIN fence AS f ON f.fence_id = fence_fault.state_id
	CROSS JOIN server_ttl ON server_ttl.topic_id = s.then_topic_id AND server_ttl.redis_key = f.redis_key
	WHERE server_ttl.end_us <= f.sampled_us
	GROUP BY s.scope
	UNION ALL
	SELECT s.scope, 0, count(*)
	FROM server_topic AS s
	JOIN fence AS f ON f.topic_id = s.topic_id AND f.present AND (f.ttl_ms >= 0 OR f.field_ttl_ms >= 0)
	GROUP BY s.scope
)
GROUP BY scope;

-- Whether missing fences were dropped by the server that held them. Counters of keys that expire are moved by anybody's
-- keys: they say something of fences only where fences are seen with a time to live; so do those of keys that are
-- evicted, unless any key may be.
--     loss   expired, evicted, fewer: it dropped them; ok: it did not; else why that cannot be told
CREATE TEMP TABLE server_loss AS
WITH use AS (
	SELECT scope, sum(fences) AS fences, sum(missing) AS missing, json_group_array(pipeline) AS pipelines
	FROM server_pipeline
	GROUP BY scope
	HAVING sum(fences) > 0
), compared AS (
	SELECT c.scope, c.change, c.begun, b.run_id AS then_run, n.process = b.process AS same, use.fences, use.missing,
		use.pipelines,
		n.evicted - iif(n.process = b.process, b.evicted, 0) AS evicted,
		n.expired - iif(n.process = b.process, b.expired, 0) + coalesce(n.expired_fields
			- iif(n.process = b.process, coalesce(b.expired_fields, 0), 0), 0) AS expired,
		'allkeys-' IN (substr(n.policy, 1, 8), substr(b.policy, 1, 8)) AS any_key,
		b.keys AS then_keys, n.keys, iif(n.aof = 0, n.loaded, NULL) AS loaded,
		iif(n.aof = 0, n.load_expired, NULL) AS load_expired,
		coalesce(t.run_out, 0) AS run_out, coalesce(t.standing, 0) AS standing
	FROM server_change AS c
	JOIN server_row AS n ON n.server_id = c.server_id
	JOIN server_row AS b ON b.server_id = c.before_id
	JOIN use ON use.scope = c.scope
	LEFT JOIN server_timed AS t ON t.scope = c.scope
)
SELECT *,
	CASE
	WHEN missing = 0 THEN 'ok'
	WHEN NOT coalesce(same, 0) AND change NOT IN ('restarted', 'replaced') THEN 'another-process'
	WHEN NOT same AND NOT coalesce(begun, 0) THEN 'another-process'
	WHEN NOT same AND coalesce(loaded + load_expired, keys) < then_keys THEN 'fewer'
	WHEN NOT same AND change = 'replaced' THEN 'another-process'
	WHEN evicted IS NULL OR expired IS NULL THEN 'counters-unknown'
	WHEN evicted > 0 AND (any_key OR run_out + standing > 0) THEN 'evicted'
	WHEN expired > 0 AND run_out + standing > 0 THEN 'expired'
	WHEN evicted > 0 OR expired > 0 THEN 'no-ttl-seen'
	ELSE 'ok'
	END AS loss
FROM compared;

-- order: 740
-- subject: server
-- title: servers whose writes have no second place
-- severity: info
-- claim: A master has replicas, all of them online and heard of within ten seconds, and takes writes only while enough
--   of them are (min-replicas-to-write). A replica hears its master.
-- unverifiable: info-incomplete, INFO does not tell of replication; settings-unknown, all is well but for what only
--   CONFIG GET min-replicas-to-write would tell.
-- remedy: REPLICAOF HOST PORT on another server makes it a replica. CONFIG SET min-replicas-to-write 1 and CONFIG SET
--   min-replicas-max-lag 10, and both in redis.conf, bound what a failover may lose to what was written in that time.
WITH server AS (
	SELECT *, coalesce(
			(SELECT value FROM redis_setting AS s
				WHERE s.server_id = server_row.server_id AND name = 'min-replicas-to-write'),
			(SELECT value FROM redis_setting AS s
				WHERE s.server_id = server_row.server_id AND name = 'min-slaves-to-write'),
			iif(good_replicas IS NULL, NULL, 'on')) AS least
	FROM server_row
	WHERE earlier = 0
)
SELECT scope AS pipeline,
	CASE
	WHEN role IS NULL OR role = 'master' AND replicas IS NULL OR role <> 'master' AND link IS NULL
		THEN 'info-incomplete'
	WHEN role = 'master' AND replicas > 0 AND least IS NULL AND NOT EXISTS (
			SELECT 1 FROM redis_info AS i WHERE i.server_id = server.server_id AND i.name GLOB 'slave[0-9]*'
				AND (i.value NOT LIKE '%,state=online,%' OR CAST(substr(i.value, instr(i.value, ',lag=') + 5)
					AS INTEGER) NOT BETWEEN 0 AND 10))
		THEN 'settings-unknown'
	END AS reason,
	1 AS n
FROM server;

WITH server AS (
	SELECT *, coalesce(
			(SELECT value FROM redis_setting AS s
				WHERE s.server_id = server_row.server_id AND name = 'min-replicas-to-write'),
			(SELECT value FROM redis_setting AS s
				WHERE s.server_id = server_row.server_id AND name = 'min-slaves-to-write'),
			iif(good_replicas IS NULL, NULL, 'on')) AS least,
		(SELECT count(*) FROM redis_info AS i WHERE i.server_id = server_row.server_id
			AND i.name GLOB 'slave[0-9]*' AND (i.value NOT LIKE '%,state=online,%'
				OR CAST(substr(i.value, instr(i.value, ',lag=') + 5) AS INTEGER) NOT BETWEEN 0 AND 10))
			AS lagging,
		(SELECT json_group_array(i.value) FROM redis_info AS i WHERE i.server_id = server_row.server_id
			AND i.name GLOB 'slave[0-9]*') AS replica_list
	FROM server_row
	WHERE earlier = 0
), judged AS (
	SELECT *,
		CASE
		WHEN role = 'master' THEN CASE
			WHEN replicas = 0 THEN 'no-replicas'
			WHEN lagging > 0 THEN 'lagging'
			WHEN replicas > 0 AND least = '0' THEN 'min-replicas-off'
			END
		WHEN link <> 'up' THEN 'link-down'
		WHEN link_idle_s > 10 THEN 'lagging'
		END AS kind
	FROM server
)
SELECT scope AS pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key,
	kind AS identity,
	CASE kind
	WHEN 'no-replicas' THEN printf('%s is a master without replicas.', scope)
	WHEN 'link-down' THEN printf('%s is a replica that has lost its master.', scope)
	WHEN 'min-replicas-off' THEN printf('%s takes writes also while none of its %d %s hears of them.', scope, replicas,
		iif(replicas = 1, 'replica', 'replicas'))
	ELSE iif(role = 'master', printf('%d of the %d replicas of %s %s behind.', lagging, replicas, scope,
			iif(lagging = 1, 'is', 'are')),
		printf('%s is a replica that has not heard its master for %d seconds.', scope, link_idle_s))
	END AS detail,
	json_object('kind', kind, 'role', role, 'replicas', replicas, 'lagging', lagging, 'replica_list', json(replica_list),
		'min_replicas_to_write', least, 'master_link_status', link, 'master_last_io_seconds_ago', link_idle_s,
		'settings_trouble', settings_trouble) AS evidence
FROM judged
WHERE kind IS NOT NULL
ORDER BY scope;

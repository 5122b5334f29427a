-- order: 710
-- subject: server
-- title: servers that may evict state
-- severity: error
-- claim: A server that holds fences or streams evicts no key: its maxmemory is 0 or its policy noeviction, and it has
--   evicted none since it was started.
-- unverifiable: info-incomplete, INFO tells neither memory limit nor policy.
-- remedy: CONFIG SET maxmemory-policy noeviction, and maxmemory-policy noeviction in redis.conf: a full server then
--   refuses writes, which workers notice. Give it more memory or a server of its own. What was evicted is gone: look at
--   fence-missing. CONFIG RESETSTAT sets the count back once that is done.
SELECT scope AS pipeline,
	iif(maxmemory IS NULL AND coalesce(evicted, 0) = 0
		OR maxmemory > 0 AND policy IS NULL AND coalesce(evicted, 0) = 0, 'info-incomplete', NULL) AS reason,
	1 AS n
FROM server_row
WHERE earlier = 0;

SELECT scope AS pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key,
	iif(maxmemory > 0 AND policy <> 'noeviction', 'policy', 'evicted') AS identity,
	CASE
	WHEN maxmemory > 0 AND policy <> 'noeviction' THEN printf(
		'%s may evict %s once %d bytes are used (%s)%s.', scope,
		iif(policy GLOB 'volatile-*', 'keys that have a time to live', 'any key'), maxmemory, policy,
		iif(evicted > 0, printf(', and has evicted %d since it was started', evicted), ''))
	ELSE printf('%s has evicted %d %s since it was started%s.', scope, evicted, iif(evicted = 1, 'key', 'keys'),
		iif(policy = 'noeviction', ', and does so no longer', ''))
	END AS detail,
	json_object('kind', iif(maxmemory > 0 AND policy <> 'noeviction', 'policy', 'evicted'), 'maxmemory', maxmemory,
		'policy', policy, 'evicted_keys', evicted, 'keys', keys) AS evidence
FROM server_row
WHERE earlier = 0 AND (maxmemory > 0 AND policy <> 'noeviction' OR evicted > 0)
ORDER BY scope;

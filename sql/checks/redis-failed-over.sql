-- order: 730
-- subject: server
-- title: servers that are not what they were
-- severity: warning
-- claim: A server answers with the data set that it had when the newest earlier run looked at this address: it was not
--   promoted, has not changed its role, and no other data set stands in its place. A restart with its data (kind
--   restarted) is severity info.
-- unverifiable: identity-unknown, INFO did not tell of process or history, now or then. Without an earlier run there is
--   nothing to examine.
-- remedy: Replication is asynchronous: the newest writes may be missing. Stop the workers of these pipelines, audit,
--   repair what fence-regressed, fence-missing and the checks of streams show, and only then let them go on.
SELECT scope AS pipeline, iif(change = 'unknown', 'identity-unknown', NULL) AS reason, count(before_id) AS n
FROM server_change
GROUP BY 1, 2;

WITH back AS (
	SELECT scope, sum(regressed) AS regressed, sum(missing) AS missing, json_group_array(pipeline) AS pipelines
	FROM server_pipeline
	GROUP BY scope
)
SELECT c.scope AS pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key,
	c.change || ' ' || n.replid || ' ' || n.process AS identity,
	iif(c.change = 'restarted', 'info', 'warning') AS severity,
	printf(CASE c.change
		WHEN 'restarted' THEN '%s was restarted since run %d'
		WHEN 'promoted' THEN '%s was promoted since run %d, and continues the history of then as its %s'
		WHEN 'role-changed' THEN iif(n.role = 'master', '%s was a replica in run %d, and is a master now',
			'%s was a master in run %d, and is a replica now')
		ELSE '%s answers with another data set than in run %d'
		END, c.scope, b.run_id, iif(n.role = 'slave', 'replica', n.role))
		|| CASE
		WHEN back.regressed + back.missing > 0 THEN printf(': %d fences moved back and %d are gone.',
			back.regressed, back.missing)
		ELSE '.'
		END AS detail,
	json_object('kind', c.change, 'run', b.run_id,
		'before', json_object('role', b.role, 'process', b.process, 'replid', b.replid, 'repl_offset', b.repl_offset,
			'keys', b.keys, 'version', b.version,
			'read', strftime('%Y-%m-%dT%H:%M:%fZ', b.read_us / 1000 / 1000.0, 'unixepoch')),
		'now', json_object('role', n.role, 'process', n.process, 'replid', n.replid, 'replid2', n.replid2,
			'repl_offset', n.repl_offset, 'second_repl_offset', n.second_repl_offset, 'keys', n.keys,
			'uptime_s', n.uptime_s, 'version', n.version),
		'pipelines', json(coalesce(back.pipelines, '[]')), 'fences_regressed', coalesce(back.regressed, 0),
		'fences_missing', coalesce(back.missing, 0)) AS evidence
FROM server_change AS c
JOIN server_row AS n ON n.server_id = c.server_id
JOIN server_row AS b ON b.server_id = c.before_id
LEFT JOIN back ON back.scope = c.scope
WHERE c.change IN ('restarted', 'promoted', 'role-changed', 'replaced')
ORDER BY c.scope;

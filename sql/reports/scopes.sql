-- The scopes of a run: pipelines in the order of the config, then streams, then servers, then names that only the checks
-- know. The columns after scope are a pipeline's.
WITH named (scope, kind, name, rank, place) AS (
	SELECT scope, kind, name, CASE kind WHEN 'pipeline' THEN 1 WHEN 'stream' THEN 2 ELSE 3 END, place
	FROM scope
	WHERE run_id = :run
	UNION ALL
	SELECT DISTINCT pipeline, 'pipeline', pipeline, 4, 0
	FROM check_result
	WHERE run_id = :run AND pipeline NOT IN (SELECT scope FROM scope WHERE run_id = :run)
)
SELECT named.kind, named.scope, named.name, kafka, group_id, group_state, group_members, group_us AS "group_read@", redis,
	key_template, key_format, key_part, replica, mapping, mapping_hint, state, tombstones, isolation, horizon, partitioner,
	expect_empty AS "expect_empty?"
FROM named
LEFT JOIN pipeline ON pipeline.run_id = :run AND pipeline.name = named.name AND named.kind = 'pipeline'
ORDER BY rank, place, named.name

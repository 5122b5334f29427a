-- The pipelines in the order of the config, then names that only the checks know.
WITH named (name, place) AS (
	SELECT name, pipeline_id FROM pipeline WHERE run_id = :run
	UNION ALL
	SELECT DISTINCT pipeline, 9223372036854775807
	FROM check_result
	WHERE run_id = :run AND pipeline NOT IN (SELECT name FROM pipeline WHERE run_id = :run)
)
SELECT named.name, kafka, group_id, group_state, group_members, group_us AS "group_read@", redis, key_template,
	key_format, replica, mapping, mapping_hint, state, tombstones, isolation, horizon, expect_empty AS "expect_empty?"
FROM named
LEFT JOIN pipeline ON pipeline.run_id = :run AND pipeline.name = named.name
ORDER BY place, named.name

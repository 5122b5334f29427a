-- Findings of one check and scope in their order. key_text is the last, for the flat form.
SELECT 1 AS schema, run_id AS run, id, name AS "check", severity,
	CASE WHEN EXISTS (SELECT 1 FROM scope WHERE scope.run_id = :run AND scope.scope = :pipeline AND kind <> 'pipeline')
		THEN NULL ELSE pipeline END AS pipeline, topic, partition, offset,
	key_utf8(key) AS key, key_hex(key) AS key_hex, key_text(redis_key) AS redis_key,
	key_text(stream) AS stream, key_text(grp) AS "group", key_text(consumer) AS consumer, entry, detail, evidence AS "evidence{}", remedy, pipeline AS scope,
	key_text(key) AS key_text
FROM finding
WHERE run_id = :run AND pipeline = :pipeline AND name = :check
ORDER BY ordinal

-- Why the run is not complete; no row: it is. First what the stages said, then what must never pass for clean even if no stage
-- said so.
WITH told AS (SELECT * FROM trouble WHERE run_id = :run),
why (part, place, stage, pipeline, topic, partition, text) AS (
	SELECT 1, trouble_id, stage, pipeline, topic, partition, text
	FROM told
	UNION ALL
	SELECT 2, 0, 'run', NULL, NULL, NULL, CASE
		WHEN reached = 'sampled' OR (command, reached) = ('replay', 'replayed') THEN 'the checks were not run'
		ELSE 'the run ended before its sources had been looked at'
	END
	FROM run
	WHERE run_id = :run AND reached NOT IN ('checked', 'reported')
	UNION ALL
	SELECT 3, check_result.ordinal, 'check', check_result.pipeline, NULL, NULL,
		check_result.name || ': ' || coalesce(check_result.trouble, 'the check could not be run')
	FROM check_result
	WHERE check_result.run_id = :run AND check_result.status = 'error'
		AND NOT EXISTS (
			SELECT 1 FROM told
			WHERE told.stage = 'check' AND told.pipeline IS check_result.pipeline
				AND instr(told.text, check_result.name) > 0)
	UNION ALL
	SELECT 4, horizon.partition, 'replay', pipeline.name, topic.topic, horizon.partition, 'not replayed to its end'
	FROM pipeline
	JOIN topic USING (pipeline_id)
	JOIN horizon USING (topic_id)
	WHERE pipeline.run_id = :run AND NOT horizon.covered
		AND NOT EXISTS (
			SELECT 1 FROM told
			WHERE coalesce(told.pipeline, pipeline.name) = pipeline.name
				AND coalesce(told.topic, topic.topic) = topic.topic
				AND coalesce(told.partition, horizon.partition) = horizon.partition)
	UNION ALL
	SELECT 5, topic.topic_id, 'sample', pipeline.name, topic.topic, NULL,
		'the scan of Redis did not reach its end'
	FROM pipeline
	JOIN topic USING (pipeline_id)
	WHERE pipeline.run_id = :run AND topic.scan_complete = 0
		AND NOT EXISTS (
			SELECT 1 FROM told
			WHERE told.stage = 'sample' AND coalesce(told.pipeline, pipeline.name) = pipeline.name)
	UNION ALL
	SELECT 5, topic.topic_id, 'sample', pipeline.name, topic.topic, NULL,
		'every key was asked for, and --memory holds only a part of them'
	FROM pipeline
	JOIN topic USING (pipeline_id)
	JOIN run ON run.run_id = pipeline.run_id
	WHERE pipeline.run_id = :run AND run.all_keys AND topic.main_threshold < 9223372036854775807
	UNION ALL
	SELECT 9, topic.topic_id, 'replay', pipeline.name, topic.topic, NULL, 'its history could not be read'
	FROM pipeline
	JOIN topic USING (pipeline_id)
	JOIN run ON run.run_id = pipeline.run_id
	WHERE pipeline.run_id = :run AND topic.incarnation_id IS NULL AND run.reached IN ('checked', 'reported')
		AND NOT EXISTS (SELECT 1 FROM told WHERE told.stage = 'replay' AND coalesce(told.pipeline, pipeline.name) = pipeline.name)
	UNION ALL
	SELECT 5, 0, 'check', pipeline.name, NULL, NULL, 'keys could not be judged, since partitions were not replayed'
	FROM pipeline
	WHERE pipeline.run_id = :run
		AND EXISTS (
			SELECT 1 FROM unverifiable
			WHERE unverifiable.run_id = :run AND unverifiable.pipeline = pipeline.name
				AND unverifiable.reason = 'not-replayed')
		AND NOT EXISTS (SELECT 1 FROM told WHERE coalesce(told.pipeline, pipeline.name) = pipeline.name)
	UNION ALL
	SELECT 6, pipeline.pipeline_id, 'sample', pipeline.name, NULL, NULL,
		'no record key exists under its key template'
			|| coalesce('; key.format ' || pipeline.mapping_hint || ' would fit', '')
	FROM pipeline
	WHERE pipeline.run_id = :run AND pipeline.mapping = 'broken'
		AND NOT EXISTS (SELECT 1 FROM told WHERE coalesce(told.pipeline, pipeline.name) = pipeline.name)
	UNION ALL
	SELECT 7, scope.place, 'check', scope.scope, NULL, NULL, 'nothing at all was examined'
	FROM scope
	JOIN run USING (run_id)
	LEFT JOIN pipeline ON scope.kind = 'pipeline' AND pipeline.run_id = :run AND pipeline.name = scope.name
	LEFT JOIN setting ON setting.run_id = :run AND setting.name = 'expect.empty'
	WHERE scope.run_id = :run AND scope.kind IN ('pipeline', 'stream') AND run.reached IN ('checked', 'reported')
		AND NOT coalesce(pipeline.expect_empty, setting.value = '1', 0)
		AND (SELECT coalesce(sum(examined), 0) FROM check_result
		     WHERE check_result.run_id = :run AND check_result.pipeline = scope.scope) = 0
	UNION ALL
	SELECT 8, 0, 'run', NULL, NULL, NULL, 'there was nothing to look at'
	FROM run
	WHERE run_id = :run AND run.reached IN ('checked', 'reported')
		AND NOT EXISTS (SELECT 1 FROM scope WHERE run_id = :run)
		AND NOT EXISTS (SELECT 1 FROM check_result WHERE run_id = :run)
	UNION ALL
	SELECT 10, stream_watch.watch_id, 'streams', 'streams/' || stream_watch.name, NULL, NULL,
		'not all of its streams were looked at'
	FROM stream_watch
	JOIN run USING (run_id)
	WHERE stream_watch.run_id = :run AND run.reached IN ('checked', 'reported') AND stream_watch.looked IS NOT 1
		AND NOT EXISTS (
			SELECT 1 FROM told WHERE coalesce(told.pipeline, 'streams/' || stream_watch.name) = 'streams/' || stream_watch.name)
	UNION ALL
	SELECT 10, stream_group.group_id, 'streams', 'streams/' || stream_watch.name, NULL, NULL,
		key_text(stream.redis_key) || ', group ' || key_text(stream_group.name) || ': '
			|| coalesce(stream_group.trouble, 'not all of its pending entries were read')
	FROM stream_watch
	JOIN stream USING (watch_id)
	JOIN stream_group USING (stream_id)
	WHERE stream_watch.run_id = :run AND (stream_group.trouble IS NOT NULL OR stream_group.listed IS NULL)
		AND NOT EXISTS (
			SELECT 1 FROM told WHERE coalesce(told.pipeline, 'streams/' || stream_watch.name) = 'streams/' || stream_watch.name)
)
SELECT stage, pipeline, topic, partition, text
FROM why
ORDER BY part, place, pipeline, topic, partition, text

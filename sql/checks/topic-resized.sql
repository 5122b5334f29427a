-- order: 345
-- title: topics whose partition count changed
-- severity: warning
-- claim: A topic has had the partition counts that the config names, and no other.
-- unverifiable: partitions-unknown, the partition count could not be read; not-replayed, a partition could not be read
--   to its end.
-- remedy: Nothing is lost by a resize as such. A key that moves is rebased by its next record; until then the worker of
--   its old partition must not apply records of it. Restart producers that still go by the old count, then name the
--   count in partitions.before, which says that it is known.
WITH mine AS (
	SELECT topic.topic_id, pipeline.name AS pipeline,
		CASE
		WHEN topic.partitions IS NULL THEN 'partitions-unknown'
		WHEN EXISTS (SELECT 1 FROM horizon WHERE horizon.topic_id = topic.topic_id AND horizon.covered = 0)
			THEN 'not-replayed'
		END AS reason,
		EXISTS (SELECT 1 FROM partition_state AS p WHERE p.topic_id = topic.topic_id AND p.records > 0) AS any
	FROM topic
	JOIN pipeline USING (pipeline_id)
	JOIN topic_state USING (topic_id)
	WHERE topic.run_id = :run AND topic.role IN ('source', 'copartitioned'))
SELECT pipeline, NULL AS reason,
	count(topic_resize.topic_id) + sum(mine.any AND mine.reason IS NULL AND topic_resize.topic_id IS NULL) AS n
FROM mine
LEFT JOIN topic_resize USING (topic_id)
GROUP BY pipeline
UNION ALL
SELECT pipeline, reason, count(*)
FROM mine
WHERE reason IS NOT NULL
GROUP BY pipeline, reason;

SELECT pipeline.name AS pipeline, topic.topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key,
	r.from_count || ' ' || r.to_count AS identity,
	printf('%s grew from %d to %d partitions', topic.topic, r.from_count, r.to_count)
		|| iif(r.begin_ms IS NULL, iif(r.source = 'run' OR EXISTS (SELECT 1 FROM partition_state AS p
				WHERE p.topic_id = r.topic_id AND p.partition >= r.from_count AND p.records > 0),
			', and no record shows when',
			', or its producers take it for one of so few, for no record is in the others'), printf(iif(r.begin_late, ' at %s or before',
			' at %s'), strftime('%Y-%m-%dT%H:%M:%fZ', r.begin_ms / 1000.0, 'unixepoch')))
		|| printf(': of %d %s from before, %d kept %s home (%.1f expected), %d %s been rebased since, and '
			|| '%d will be by the next record', r.keys, iif(r.keys = 1, 'key', 'keys'), r.kept,
			iif(r.kept = 1, 'its', 'their'), r.kept_expected, r.rebased, iif(r.rebased = 1, 'has', 'have'),
			r.to_rebase)
		|| iif(pipeline.redis IS NULL OR topic.role <> 'source', '', printf('; %d %s in the old partition',
			r.waiting, iif(r.waiting = 1, 'fence waits', 'fences wait')))
		|| iif(r.stale_records = 0, '', printf('; %d %s came too late from producers that go by %d',
			r.stale_records, iif(r.stale_records = 1, 'record', 'records'), r.from_count))
		|| '.' AS detail,
	json_object('from', r.from_count, 'to', r.to_count, 'known_from', r.source,
		'begin', iif(r.begin_ms IS NULL, NULL, json_object('partition', r.begin_partition,
			'offset', r.begin_offset, 'time', strftime('%Y-%m-%dT%H:%M:%fZ', r.begin_ms / 1000.0, 'unixepoch'), 'time_ms', r.begin_ms,
			'or_before', json(iif(r.begin_late, 'true', 'false')))),
		'end', iif(r.end_ms IS NULL, NULL, json_object('time', strftime('%Y-%m-%dT%H:%M:%fZ', r.end_ms / 1000.0,
			'unixepoch'), 'time_ms', r.end_ms)),
		'keys', r.keys, 'sampled', iif(s.threshold = 0, NULL, round(s.threshold / 9223372036854775807.0, 6)),
		'kept', r.kept, 'kept_expected', round(r.kept_expected, 2), 'rebased', r.rebased,
		'to_rebase', r.to_rebase,
		'fences_waiting', iif(pipeline.redis IS NULL OR topic.role <> 'source', NULL, r.waiting),
		'stale', json_object('keys', r.stale_keys, 'records', r.stale_records),
		'proof', iif(r.proof_keys IS NULL, NULL, json_object('keys', r.proof_keys, 'at_home', r.proof_from,
			'at_home_alone', r.proof_alone))) AS evidence
FROM topic
JOIN pipeline USING (pipeline_id)
JOIN topic_resize AS r USING (topic_id)
JOIN topic_state AS s USING (topic_id)
WHERE topic.run_id = :run AND r.source <> 'config'
ORDER BY topic.pipeline_id, topic.role DESC, topic.topic, r.from_count;

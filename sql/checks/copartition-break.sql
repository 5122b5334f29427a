-- order: 310
-- title: records in a partition that is not their key's
-- severity: error
-- claim: Every record with a key stands in a partition that is legal for it: its home under the partition count of the
--   topic, or under the count that it had when the record was written.
-- unverifiable: partitions-unknown, the partition count could not be read; not-replayed, the partition could not be
--   read to its end; no-home, records whose key is too short for the part of it that is hashed, or not what the
--   partitioner takes.
-- remedy: A producer partitions by another function, or by an old partition count; copartition-cause says which, and
--   evidence.cause is the id of its finding. Correct it; the records went to the DLQ and must be produced again.
WITH mine AS (
	SELECT topic.topic_id, pipeline.name AS pipeline, topic.partitions
	FROM topic
	JOIN pipeline USING (pipeline_id)
	WHERE topic.run_id = :run AND topic.role = 'source')
SELECT pipeline, NULL AS reason, coalesce(sum(placement.keys), 0) AS n
FROM mine
LEFT JOIN placement USING (topic_id)
GROUP BY pipeline
UNION ALL
SELECT pipeline, iif(mine.partitions IS NULL, 'partitions-unknown', 'not-replayed'), count(*)
FROM mine
JOIN horizon USING (topic_id)
WHERE mine.partitions IS NULL OR horizon.covered = 0
GROUP BY 1, 2
UNION ALL
SELECT pipeline, 'no-home', sum(partition_state.homeless)
FROM mine
JOIN partition_state USING (topic_id)
WHERE partition_state.homeless > 0
GROUP BY 1;

-- A fault makes one finding, and copartition-cause has it: of the keys that one certain cause explains, 10,000 or so are
-- told one by one, those with the smallest hashes. Table off_home_key has the others.
WITH told AS MATERIALIZED (
	SELECT cause.topic_id, cause.ordinal,
		(SELECT iif(count(*) > 10000, max(o.hash) / count(*) * 10000, NULL)
		 FROM off_home_key AS o
		 WHERE o.topic_id = cause.topic_id AND o.cause = cause.ordinal) AS most
	FROM topic
	JOIN cause USING (topic_id)
	WHERE topic.run_id = :run AND cause.confidence = 'certain')
SELECT pipeline.name AS pipeline, topic.topic, o.partition, o.first_offset AS offset, o.key, NULL AS redis_key,
	NULL AS identity,
	printf('%s has %d %s in partition %d, from %d to %d, and is at home in partition %d.', the_key(o.key),
		o.records,
		iif(o.records = 1, 'record', 'records'), o.partition, o.first_offset, o.last_offset, o.home) AS detail,
	json_object('home', o.home, 'partitions', topic.partitions, 'records', o.records,
		'first', json_object('offset', o.first_offset, 'time', strftime('%Y-%m-%dT%H:%M:%fZ',
			o.first_ms / 1000.0, 'unixepoch'), 'time_ms', o.first_ms),
		'last', json_object('offset', o.last_offset, 'time', strftime('%Y-%m-%dT%H:%M:%fZ', o.last_ms / 1000.0,
			'unixepoch'), 'time_ms', o.last_ms),
		'cause', cause.finding_id,
		'recheckable', json(iif(o.first_offset >= coalesce(horizon.log_start_before_commit, horizon.log_start),
			'true', 'false'))) AS evidence
FROM topic
JOIN pipeline USING (pipeline_id)
JOIN off_home_key AS o USING (topic_id)
LEFT JOIN told ON told.topic_id = o.topic_id AND told.ordinal = o.cause
LEFT JOIN horizon ON horizon.topic_id = o.topic_id AND horizon.partition = o.partition
LEFT JOIN cause ON cause.topic_id = o.topic_id AND cause.ordinal = o.cause
WHERE topic.run_id = :run AND topic.role = 'source' AND (told.most IS NULL OR o.hash <= told.most)
ORDER BY topic.pipeline_id, topic.topic, o.partition, o.hash, o.key;

-- Every key counts, also those that are not told one by one, or that off_home_key has no room for.
SELECT pipeline.name AS pipeline, sum(placement.keys) AS n
FROM topic
JOIN pipeline USING (pipeline_id)
JOIN placement USING (topic_id)
WHERE topic.run_id = :run AND topic.role = 'source' AND placement.legal IN (0, 3)
GROUP BY pipeline.name;

-- order: 305
-- title: what put records in a partition that is not their key's
-- severity: error
-- claim: No producer places keys otherwise than the pipeline's partitioner does over the partitions that the topic has.
--   What does is named: its partitioner, the part of the key, the partition count, and since when; or what is missing
--   to name it. Topics declared co-partitioned hold the same keys as the same bytes.
-- unverifiable: never; copartition-break tells what was not looked at.
-- remedy: Find the producer and let it place keys as the others do; the records off home went to the DLQ and must be
--   produced again.
SELECT pipeline.name AS pipeline, NULL AS reason, coalesce(sum(placement.keys), 0) AS n
FROM topic
JOIN pipeline USING (pipeline_id)
LEFT JOIN placement USING (topic_id)
WHERE topic.run_id = :run AND topic.role IN ('source', 'copartitioned')
GROUP BY pipeline.name;

WITH placement_text (topic_id, cause, ordinal, words) AS (
	SELECT topic_id, cause, ordinal, printf('%s%s over %d %s', partitioner, iif(part = 'whole', '', '/' || part),
		partitions, iif(partitions = 1, 'partition', 'partitions'))
	FROM cause_member
), told AS (
	SELECT c.*, pipeline.pipeline_id, pipeline.name AS pipeline, pipeline.partitioner, topic.role, topic.topic,
		topic.partitions,
		strftime('%Y-%m-%dT%H:%M:%fZ', c.first_ms / 1000.0, 'unixepoch') AS first_time,
		strftime('%Y-%m-%dT%H:%M:%fZ', c.last_ms / 1000.0, 'unixepoch') AS last_time,
		printf('%s%,d %s of %s%,d %s', iif(c.exact, '', 'about '), c.records,
			iif(c.records = 1, 'record', 'records'), iif(c.exact, '', 'about '), c.keys,
			iif(c.keys = 1, 'key', 'keys')) AS size,
		coalesce(printf(', about %.1f %% of the records with a key', 100 * c.share), '')
			|| CASE c.pattern
				WHEN 'switched' THEN '; while it lasts, everything in its partitions is placed so'
				WHEN 'interleaved' THEN '; interleaved with records at home'
				ELSE '' END AS extent,
		(SELECT words FROM placement_text AS w WHERE w.topic_id = c.topic_id AND w.cause = c.ordinal AND w.ordinal = 0)
			AS placed,
		(SELECT users FROM cause_member AS m WHERE m.topic_id = c.topic_id AND m.cause = c.ordinal AND m.ordinal = 0)
			AS users,
		(SELECT partitions FROM cause_member AS m
			WHERE m.topic_id = c.topic_id AND m.cause = c.ordinal AND m.ordinal = 0) AS count,
		(SELECT group_concat(words, ', or by ') FROM (
			SELECT words FROM placement_text AS w WHERE w.topic_id = c.topic_id AND w.cause = c.ordinal
			ORDER BY w.ordinal LIMIT 8)) AS survivors
	FROM topic
	JOIN pipeline USING (pipeline_id)
	JOIN cause AS c USING (topic_id)
	WHERE topic.run_id = :run
)
SELECT pipeline, topic, partition, offset, key, redis_key, identity, detail, evidence, remedy
FROM (
SELECT pipeline, topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key, identity,
	iif(kind IN ('partitioner', 'partition-count') AND NOT over, 'Since ' || first_time,
		iif(first_ms = last_ms, 'At ' || first_time, 'From ' || first_time || ' to ' || last_time))
	|| CASE
		WHEN kind IN ('partitioner', 'partition-count') THEN printf(' a producer %s keys of %s %s: %s%s%s.',
			iif(over, 'placed', 'places'), topic, CASE
				WHEN confidence = 'ambiguous' THEN 'by ' || survivors
					|| iif(members > 8, printf(', or by %d more', members - 8), '')
				WHEN kind = 'partitioner' THEN printf('by %s (%s)', placed, users)
				ELSE printf('over %d %s, where there are %d', count,
					iif(count = 1, 'partition', 'partitions'), partitions) END,
			size, extent,
			iif(confidence = 'ambiguous', '; more distinct keys are needed to tell which', ''))
		WHEN kind = 'empty-key' THEN printf(' %,d %s with an empty key %s off home in %s: the default of librdkafka, '
			|| 'for one, places them by chance.', records, iif(records = 1, 'record', 'records'),
			iif(records = 1, 'stands', 'stand'), topic)
		ELSE printf(' %s of %s %s off home: %s.', size, topic, iif(records = 1, 'stands', 'stand'), CASE
			WHEN kind = 'stale-metadata' THEN printf('their producer went by %s partitions, where there are %d',
				coalesce(count, 'fewer'), partitions)
			WHEN sign = 'one-partition' THEN printf(
				'all are in partition %d, by something other than the key', first_partition)
			WHEN kind = 'not-the-key' THEN 'they were placed by something other than the key, since the same '
				|| 'keys are in several partitions at the same times'
			WHEN confidence = 'ambiguous' THEN printf(
				'too few keys to tell by what; at least %d distinct ones are needed', needed_keys)
			ELSE printf('it cannot be said by what, since none of %,d placements explains them',
				tested_hypotheses) END)
	END AS detail,
	json_object('kind', kind, 'confidence', confidence,
		'class', json(coalesce((SELECT json_group_array(json_object('partitioner', partitioner, 'part', part,
			'partitions', partitions, 'class', class, 'users', users)) FROM (
				SELECT * FROM cause_member AS m
				WHERE m.topic_id = told.topic_id AND m.cause = told.ordinal
				ORDER BY m.ordinal)), '[]')),
		'more', members - (SELECT count(*) FROM cause_member AS m
			WHERE m.topic_id = told.topic_id AND m.cause = told.ordinal),
		'sign', sign,
		'tested', json_object('hypotheses', tested_hypotheses, 'keys', tested_keys, 'needed_keys', needed_keys),
		'share', round(share, 4), 'differs', round(differs, 4), 'density', round(density, 4), 'pattern', pattern,
		'over', json(iif(over, 'true', 'false')), 'exact', json(iif(exact, 'true', 'false')),
		'keys', keys, 'records', records,
		'first', json_object('partition', first_partition, 'offset', first_offset, 'time', first_time, 'time_ms',
			first_ms),
		'last', json_object('partition', last_partition, 'offset', last_offset, 'time', last_time, 'time_ms', last_ms),
		'partitions', json((SELECT json_group_array(json_object('partition', partition, 'keys', keys, 'records',
			records, 'first', json_object('offset', first_offset, 'time_ms', first_ms), 'last',
			json_object('offset', last_offset, 'time_ms', last_ms))) FROM (
				SELECT * FROM cause_partition AS p
				WHERE p.topic_id = told.topic_id AND p.cause = told.ordinal
				ORDER BY p.partition))),
		'sample', json((SELECT json_group_array(json_object('key_hex', lower(hex(key)), 'key', key_text(key),
			'partition', partition, 'home', home, 'placed', placed)) FROM (
				SELECT * FROM cause_key AS k
				WHERE k.topic_id = told.topic_id AND k.cause = told.ordinal
				ORDER BY k.ordinal)))) AS evidence,
	remedy, pipeline_id, role, ordinal
FROM told
UNION ALL
SELECT pipeline, topic, NULL, NULL, NULL, NULL, 'encoding/' || other || '/' || format || '/' || other_format, detail,
	json_object('kind', 'encoding', 'confidence', 'certain', 'topics', json_array(topic, other),
		'formats', json_array(format, other_format), 'keys', same, 'compared', compared, 'identical', identical,
		'apart', apart, 'sample_hex', json(samples)),
	remedy, pipeline_id, 'encoding', 0
FROM encoding_break
WHERE run_id = :run)
ORDER BY pipeline_id, role DESC, topic, ordinal, identity;

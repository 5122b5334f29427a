-- order: 340
-- title: keys and slots with a large share of the records
-- severity: info
-- claim: No key has hot.share or more of the records of a partition that has at least 10,000; where the state lives in a
--   cluster, or is to, no slot has as large a share of the records of the sampled keys.
-- unverifiable: not-replayed, the partition could not be read to its end.
-- remedy: Nothing is lost. One worker and one Redis node carry the load of a hot key; split it (a suffix, and a sum over
--   the parts), or aggregate before the topic. A hot slot comes from a hash tag that many keys share: choose another.
WITH mine AS (
	SELECT topic.topic_id, pipeline.name AS pipeline
	FROM topic
	JOIN pipeline USING (pipeline_id)
	WHERE topic.run_id = :run AND topic.role = 'source' AND pipeline.hot_share IS NOT NULL)
SELECT pipeline, NULL AS reason, coalesce(sum(partition_state.records >= 10000), 0) AS n
FROM mine
LEFT JOIN partition_state USING (topic_id)
GROUP BY pipeline
UNION ALL
SELECT pipeline, 'not-replayed', count(*)
FROM mine
JOIN horizon USING (topic_id)
WHERE horizon.covered = 0
GROUP BY pipeline
UNION ALL
SELECT pipeline, NULL, count(*)
FROM hot_slot
GROUP BY pipeline;

SELECT * FROM (
SELECT pipeline.name AS pipeline, topic.topic, hot.partition, NULL AS offset, hot.key, NULL AS redis_key,
	'key' AS identity,
	printf('%s has %.1f %% of the records of partition %d: %d of %d.', the_key(hot.key),
		100.0 * hot.records / state.records, hot.partition, hot.records, state.records) AS detail,
	json_object('records', hot.records, 'of', state.records,
		'share', round(1.0 * hot.records / state.records, 4), 'limit', pipeline.hot_share / 1000.0) AS evidence
FROM topic
JOIN pipeline USING (pipeline_id)
JOIN hot_key AS hot USING (topic_id)
JOIN partition_state AS state ON state.topic_id = hot.topic_id AND state.partition = hot.partition
WHERE topic.run_id = :run AND topic.role = 'source'
ORDER BY topic.pipeline_id, topic.topic, hot.partition, hot.records DESC, hot.hash, hot.key)
UNION ALL
SELECT * FROM (
SELECT pipeline, topic, NULL, NULL, NULL, example, 'slot ' || slot,
	printf('Slot %d has %.1f %% of the records of the sampled keys: %d of %d, of %d keys.', slot,
		100.0 * records / all_records, records, all_records, keys),
	json_object('slot', slot, 'keys', keys, 'records', records, 'of', all_records,
		'share', round(1.0 * records / all_records, 4), 'limit', hot_share / 1000.0)
FROM hot_slot
WHERE keys > 1 AND all_records >= 10000 AND records * 1000 >= hot_share * all_records
ORDER BY pipeline_id, topic, records DESC, slot);

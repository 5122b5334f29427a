-- The topics of a run and those declared co-partitioned with them, with how much of each was sampled.
SELECT source.topic_id, mine.threshold, other.topic_id, theirs.threshold, source.partitions IS other.partitions,
	source.topic, other.topic
FROM topic AS source
JOIN topic AS other ON other.pipeline_id = source.pipeline_id AND other.role = 'copartitioned'
JOIN topic_state AS mine ON mine.topic_id = source.topic_id
JOIN topic_state AS theirs ON theirs.topic_id = other.topic_id
WHERE source.run_id = ?1 AND source.role = 'source'
ORDER BY source.topic_id, other.topic_id

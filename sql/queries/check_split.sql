-- The sampled keys that both a source topic and one co-partitioned with it hold, with the partition of the key's newest
-- record in each.
CREATE TEMP TABLE split_key (
	pipeline TEXT, topic TEXT, other TEXT, same_count INTEGER, hash INTEGER, key BLOB,
	partition INTEGER, legal INTEGER, last_offset INTEGER, last_ms INTEGER,
	other_partition INTEGER, other_legal INTEGER, other_offset INTEGER, other_ms INTEGER
);
INSERT INTO split_key
WITH newest AS (
	-- max() makes SQLite take the other columns from the row that holds it.
	SELECT topic_id, hash, key, partition, legal, last_offset, max(last_ms) AS last_ms
	FROM key_history
	WHERE topic_id IN (
		SELECT topic_id FROM topic
		WHERE run_id = ?1 AND EXISTS (
			SELECT 1 FROM topic AS other WHERE other.pipeline_id = topic.pipeline_id
				AND other.role = 'copartitioned'))
	GROUP BY topic_id, hash, key)
SELECT pipeline.name, source.topic, other.topic, source.partitions IS other.partitions, mine.hash, mine.key,
	mine.partition, mine.legal, mine.last_offset, mine.last_ms, theirs.partition, theirs.legal, theirs.last_offset,
		theirs.last_ms
FROM topic AS source
JOIN pipeline USING (pipeline_id)
JOIN topic AS other ON other.pipeline_id = source.pipeline_id AND other.role = 'copartitioned'
JOIN newest AS mine ON mine.topic_id = source.topic_id
JOIN newest AS theirs ON theirs.topic_id = other.topic_id AND theirs.hash = mine.hash AND theirs.key = mine.key
WHERE source.run_id = ?1 AND source.role = 'source';

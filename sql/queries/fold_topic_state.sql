-- Whether a topic's history is whole: every partition from offset 0 without a record that may be gone, and nothing
-- before this incarnation that was never indexed.
INSERT INTO topic_state (topic_id, run_id, threshold, null_keys, dlq, incomplete)
SELECT topic.topic_id, topic.run_id, ?2, ?3, ?4,
	CASE
	WHEN topic.incarnation_id IS NULL OR topic.partitions IS NULL
		OR (SELECT count(*) FROM horizon WHERE topic_id = ?1 AND covered = 1) < topic.partitions
			THEN 'not-replayed'
	WHEN EXISTS (
		SELECT 1 FROM incarnation AS now
		JOIN incarnation AS ended ON ended.cluster = now.cluster AND ended.topic = now.topic
			AND ended.ended_run IS NOT NULL
			AND ended.incarnation_id <> now.incarnation_id
		WHERE now.incarnation_id = topic.incarnation_id) THEN 'earlier-incarnation'
	WHEN EXISTS (SELECT 1 FROM partition_state WHERE topic_id = ?1 AND complete = 0) THEN 'history-incomplete'
	END
FROM topic
WHERE topic.topic_id = ?1

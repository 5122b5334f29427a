-- Slots of a cluster, or of the one that is planned, by the records of the sampled keys in them.
CREATE TEMP TABLE hot_slot (
	pipeline_id INTEGER, pipeline TEXT, topic TEXT, hot_share INTEGER, slot INTEGER, keys INTEGER, records INTEGER,
	all_records INTEGER, example BLOB
);
INSERT INTO hot_slot
WITH clustered AS (
	SELECT pipeline.pipeline_id, pipeline.name AS pipeline, pipeline.hot_share, topic.topic, topic.topic_id
	FROM pipeline
	JOIN topic ON topic.pipeline_id = pipeline.pipeline_id AND topic.role = 'source'
	LEFT JOIN server_row ON earlier = 0
		AND scope = 'redis/' || rtrim(rtrim(pipeline.redis, '0123456789'), '/')
	WHERE pipeline.run_id = ?1 AND pipeline.hot_share IS NOT NULL AND pipeline.redis IS NOT NULL
		AND pipeline.mapping <> 'broken' AND (pipeline.cluster_plan OR server_row.cluster = 1)
), counted AS (
	SELECT clustered.*, coalesce(fence.slot, redis_slot(fence.redis_key)) AS slot, count(*) AS keys, sum(state.records) AS records, min(fence.redis_key) AS example
	FROM clustered
	JOIN fence_state AS state ON state.topic_id = clustered.topic_id
	JOIN fence ON fence.fence_id = state.state_id
	WHERE state.records > 0
	GROUP BY clustered.topic_id, coalesce(fence.slot, redis_slot(fence.redis_key)))
SELECT pipeline_id, pipeline, topic, hot_share, slot, keys, records, sum(records) OVER (PARTITION BY topic_id), example
FROM counted;

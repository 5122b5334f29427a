-- An entry of streams: in the config.
SELECT redis, "key", group_name AS "group", excluded AS "exclude{}", idle_ms, deliveries, dlq, lag_max, backlog_age_max_ms,
	consumer_idle_max_ms, length_max, pending_keys, looked AS "looked?"
FROM stream_watch
WHERE run_id = :run AND 'streams/' || name = :pipeline

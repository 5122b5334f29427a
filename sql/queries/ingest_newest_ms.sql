-- The newest record time of a topic that is not in the future.
SELECT max(min(max_ms, ?2)) FROM chunk WHERE incarnation_id = ?1

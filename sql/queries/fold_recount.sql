-- The record keys in the sample, after its thresholds were halved.
UPDATE topic
SET main_keys = (
		SELECT count(*) FROM fence_state JOIN fence ON fence.fence_id = fence_state.state_id
		WHERE fence_state.topic_id = ?1 AND fence_state.records > 0 AND fence.strata & 1
			AND fence.hash < topic.main_threshold),
	recent_keys = (
		SELECT count(*) FROM fence_state JOIN fence ON fence.fence_id = fence_state.state_id
		WHERE fence_state.topic_id = ?1 AND fence_state.records > 0 AND fence.strata & 2
			AND fence.hash < topic.recent_threshold)
WHERE topic_id = ?1

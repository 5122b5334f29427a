SELECT s.state_id, fence.key
FROM fence_state AS s
JOIN fence ON fence.fence_id = s.state_id
WHERE s.topic_id = ?1

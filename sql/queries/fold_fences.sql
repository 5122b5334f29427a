-- The samples of a topic that are in the strata's thresholds, each with its fence where it has one, and whether it is
-- in the recent stratum alone. The rows of a run lie together: walking them costs a fraction of looking each one up
-- through the index on topic_id.
SELECT fence_id, hash, key, partition, offset, NOT (strata & 1 AND hash < ?2)
FROM fence
WHERE fence_id BETWEEN (SELECT min(fence_id) FROM fence WHERE topic_id = ?1)
	AND (SELECT max(fence_id) FROM fence WHERE topic_id = ?1)
	AND +topic_id = ?1 AND ((strata & 1 AND hash < ?2) OR (strata & 2 AND hash < ?3))
ORDER BY fence_id

-- The sampled keys of a topic that stand in several legal partitions, or wait in an older one.
SELECT moved.hash, moved.key, fence.partition, fence.offset, count(*) OVER ()
FROM (
	SELECT topic_id, hash, key
	FROM key_state
	WHERE topic_id = ?1 AND legal > 0
	GROUP BY hash, key
	HAVING count(*) > 1 OR max(legal) = 2) AS moved
LEFT JOIN fence ON fence.topic_id = moved.topic_id AND fence.hash = moved.hash AND fence.key = moved.key
ORDER BY moved.hash, moved.key
LIMIT max(?2, 1)

-- Sampled keys in an order that has nothing to do with their partitions.
SELECT key FROM fence WHERE topic_id = ?1 ORDER BY fence_id LIMIT 4000

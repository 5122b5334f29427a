-- order: 130
-- title: fences beyond the end of the log
-- severity: error
-- claim: A fence stands below the last high watermark of its partition, in a partition that the topic has.
-- unverifiable: partitions-unknown, the partition count could not be read, or may have grown before the key was
--   sampled; watermark-unknown, the high watermark of the fence's partition could not be read.
-- remedy: The worker will skip every record of this key until the log has passed the fence. Find out where the offset
--   comes from: another cluster, a topic that was deleted and created again, a restored backup. Then set the fence to
--   the newest record that the state contains.
SELECT pipeline, reason, n FROM fence_subject WHERE name = 'fence-ahead' ORDER BY pipeline, reason;

SELECT c.pipeline, c.topic, c.fence_partition AS partition, c.fence_offset AS offset, c.key, c.redis_key,
	NULL AS identity,
	CASE
	WHEN c.fence_partition >= c.partitions THEN
		printf('The fence %s stands in partition %d, and %s has %d partitions.', of_key(c.key),
			c.fence_partition, c.topic, c.partitions)
	ELSE printf('The fence %s stands at %d in partition %d, whose log ends at %d.', of_key(c.key),
		c.fence_offset, c.fence_partition,
		horizon.last_high_watermark)
	END AS detail,
	json_object('fence', json_object('partition', c.fence_partition, 'offset', c.fence_offset), 'partitions',
		c.partitions,
		'high_watermark', horizon.last_high_watermark, 'home', c.home, 'expected_offset',
			c.home_offset) AS evidence
FROM fence_case AS c
LEFT JOIN horizon ON horizon.topic_id = c.topic_id AND horizon.partition = c.fence_partition
WHERE c.fault = 'fence-ahead'
ORDER BY c.topic, c.fence_partition, c.fence_offset, c.hash, c.key;

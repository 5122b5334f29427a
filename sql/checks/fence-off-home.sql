-- order: 190
-- title: fences in a partition that is not the key's
-- severity: error
-- claim: A fence stands in a partition that is legal for its key: its home under a partition count that the topic has
--   or had.
-- unverifiable: partitions-unknown, the partition count could not be read; no-home, the key is too short for the part
--   of it that is hashed, or not what the partitioner takes.
-- remedy: A record in the wrong partition was applied instead of going to the DLQ. Correct the partitioner of the
--   producer that wrote it (copartition-break lists such records); if the topic had a count that is not listed, name it
--   in partitions.before.
SELECT pipeline, reason, n FROM fence_subject WHERE name = 'fence-off-home' ORDER BY pipeline, reason;

SELECT pipeline, topic, fence_partition AS partition, fence_offset AS offset, key, redis_key, NULL AS identity,
	printf('The fence %s stands at %d in partition %d, and the key is at home in partition %d.',
		of_key(key), fence_offset,
		fence_partition, home) AS detail,
	json_object('fence', json_object('partition', fence_partition, 'offset', fence_offset), 'home', home,
		'legal', (SELECT json_group_array(partition) FROM (
			SELECT DISTINCT partition_by(c.partitioner, c.key, topic_count.partitions) AS partition FROM topic_count
				WHERE topic_count.topic_id = c.topic_id
			ORDER BY partition)),
		'record_at_fence', at_fence, 'time', fence_at, 'time_ms', fence_ms) AS evidence
FROM fence_case AS c
WHERE fault = 'fence-off-home'
ORDER BY topic, fence_partition, fence_offset, hash, key;

-- order: 220
-- title: keys that moved, or will move, to another partition
-- severity: info
-- claim: The records of a key stand in one legal partition, and its fence in its home.
-- unverifiable: partitions-unknown, the partition count could not be read; no-home, the key is too short for the part
--   of it that is hashed, or not what the partitioner takes.
-- remedy: Nothing is wrong: partitions were added. A key that waits is rebased by its next record; until then the old
--   partition's worker must not apply records of it.
SELECT pipeline, reason, n FROM fence_subject WHERE name = 'fence-rebased' ORDER BY pipeline, reason;

SELECT pipeline, topic, fence_partition AS partition, fence_offset AS offset, key, redis_key, fence_legal AS identity,
	CASE
	WHEN fence_legal = 2 THEN printf('The fence %s waits at %d in partition %d; its next record will be in '
		|| 'partition %d and rebase it.', of_key(key), fence_offset, fence_partition, home)
	ELSE printf('The records %s stand in %d legal partitions; by their times it was rebased %d %s, and its '
		|| 'fence is at home in partition %d.', of_key(key), legal_partitions, rebases,
		iif(rebases = 1, 'time', 'times'), home)
	END AS detail,
	json_object('fence', json_object('partition', fence_partition, 'offset', fence_offset), 'home', home,
		'done', json(iif(fence_legal = 2, 'false', 'true')), 'rebases', rebases, 'order', 'record times',
		'sequence', (SELECT json_group_array(json_object('partition', partition, 'offset', offset, 'time_ms', ms,
			'verdict', verdict))
			FROM (SELECT * FROM rebase_step AS step WHERE step.state_id = c.state_id ORDER BY step.step)),
		'partitions', (SELECT json_group_array(json_object('partition', partition, 'records', records,
			'first_offset', first_offset, 'last_offset', last_offset,
			'first_ms', first_ms, 'last_ms', last_ms))
			FROM (SELECT * FROM key_state AS k WHERE k.topic_id = c.topic_id AND k.hash = c.hash
				AND k.key = c.key AND k.legal > 0
				AND k.partition IN (SELECT partition_by(c.partitioner, c.key, topic_count.partitions)
					FROM topic_count WHERE topic_count.topic_id = c.topic_id)
				ORDER BY k.partition))) AS evidence
FROM fence_case AS c
WHERE rebased = 'fault'
ORDER BY topic, fence_partition, fence_offset, hash, key;

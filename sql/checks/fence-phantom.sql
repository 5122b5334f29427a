-- order: 170
-- title: fences on another key's record
-- severity: error
-- claim: The record at the partition and offset of a fence has the fence's key.
-- unverifiable: gap, there is no record at the offset (a transaction marker, a compacted or trimmed record, or one that
--   was never read); not-indexed, the offset lies below where indexing began; unstable, it lies between the last stable
--   offset and the high watermark; not-replayed, the partition could not be read to its end.
-- remedy: The fence was not written by the contract. Find its writer; then set the fence to the newest record that the
--   state contains.
SELECT pipeline, reason, n FROM fence_subject WHERE name = 'fence-phantom' ORDER BY pipeline, reason;

SELECT c.pipeline, c.topic, c.fence_partition AS partition, c.fence_offset AS offset, c.key, c.redis_key,
	NULL AS identity,
	printf('The fence %s stands at %d in partition %d, where the record of another key is.', of_key(c.key),
		c.fence_offset, c.fence_partition) AS detail,
	json_object('fence', json_object('partition', c.fence_partition, 'offset', c.fence_offset),
		'record', json_object('key', key_utf8(record.key), 'key_hex', key_hex(record.key), 'time', c.fence_at,
			'time_ms', c.fence_ms,
			'aborted', json(iif(c.at_fence = 'aborted-other', 'true', 'false'))),
		'home', c.home, 'expected_offset', c.home_offset) AS evidence
-- In the order of the records, so that each chunk of history is decoded once.
FROM (
	SELECT * FROM fence_case WHERE fault = 'fence-phantom' ORDER BY topic_id, fence_partition, fence_offset LIMIT -1
) AS c
CROSS JOIN topic ON topic.topic_id = c.topic_id
LEFT JOIN record ON record.incarnation = topic.incarnation_id AND record.partition = c.fence_partition
	AND record.offset = c.fence_offset
ORDER BY c.topic, c.fence_partition, c.fence_offset, c.hash, c.key;

-- Keys that must have a hash: those whose newest record in a stretch of a partition, their home among ?5, neither deletes nor is older than ?7.
-- ?6: tombstones count like other records. With max() SQLite takes the other columns from the newest record.
SELECT key
FROM (
	SELECT key_part(?9, key) AS key, max(offset), tombstone, ts
	FROM record
	WHERE incarnation = ?1 AND partition = ?2 AND kind = 'committed' AND offset >= ?3 AND offset < ?4
	GROUP BY 1)
WHERE key IS NOT NULL AND (?6 OR NOT tombstone) AND ts >= ?7 AND partition_by(?8, key, ?5) = ?2

-- The samples of a topic that are in the strata's thresholds, each with its fence where it has a well-formed one.
SELECT fence_id, hash, key,
	iif(present AND type IS NULL AND malformed IS NULL, partition, NULL),
	iif(present AND type IS NULL AND malformed IS NULL, offset, NULL)
FROM fence
WHERE topic_id = ?1 AND ((strata & 1) AND hash < ?2 OR (strata & 2) AND hash < ?3)
ORDER BY fence_id

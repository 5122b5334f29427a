INSERT INTO fence_state (topic_id, hash, key, fence_id, home, records, legal_partitions, rebases, newest_ms, unproven, elsewhere,
	fence_legal, at_fence, fence_ms, fence_tombstone,
	home_records, home_offset, home_ms, home_lost, home_lost_first, home_lost_first_ms, home_tombstone, home_tombstone_any,
	older, older_offset, older_ms, older_unsure, older_lost, older_lost_first, older_lost_first_ms, older_tombstone,
	applied, applied_sum, value_hash)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28,
	?29, ?30, ?31, ?32, ?33, ?34)

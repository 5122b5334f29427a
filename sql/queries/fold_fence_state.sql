INSERT INTO fence_state (state_id, topic_id, home, records, legal_partitions, rebases, newest_ms, unproven, elsewhere,
	fence_legal, at_fence, fence_ms, fence_tombstone,
	home_records, home_first, home_last, home_first_ms, home_offset, home_ms, home_lost, home_lost_first,
		home_lost_first_ms, home_tombstone, home_tombstone_any,
	older, older_offset, older_ms, older_unsure, older_lost, older_lost_first, older_lost_first_ms, older_tombstone,
	applied, applied_sum, value_hash, rejected)
SELECT c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20, c21, c22, c23,
	c24, c25, c26, c27,
	c28, c29, c30, c31, c32, c33, c34, c35
FROM bulk

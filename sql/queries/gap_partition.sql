-- What classes the holes of a partition (?1 incarnation, ?2 partition), and the first offset of the chunk that holds ?3 or lies before it.
SELECT p.first_offset, p.next_offset, p.gap_offset, i.compacted,
	i.policy_unknown AND NOT EXISTS (SELECT 1 FROM topic AS t
		WHERE t.incarnation_id = i.incarnation_id AND t.cleanup_policy IS NOT NULL),
	ifnull((SELECT max(c.first_offset) FROM chunk AS c
		WHERE c.incarnation_id = ?1 AND c.partition = ?2 AND c.kind = 0 AND c.first_offset <= ?3), 0)
FROM partition AS p JOIN incarnation AS i ON i.incarnation_id = p.incarnation_id
WHERE p.incarnation_id = ?1 AND p.partition = ?2;

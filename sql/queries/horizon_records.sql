SELECT coalesce(sum(records), 0) FROM chunk WHERE incarnation_id = ?1 AND partition = ?2 AND kind = 0

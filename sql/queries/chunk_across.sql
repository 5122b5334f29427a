-- The chunks of partition ?2 of incarnation ?1 that lie on both sides of ?3: at most one a kind.
SELECT kind, data FROM chunk
WHERE incarnation_id = ?1 AND partition = ?2 AND first_offset < ?3 AND end_offset > ?3
ORDER BY kind;

-- Everything below ?3 was read.
UPDATE partition SET next_offset = ?3 WHERE incarnation_id = ?1 AND partition = ?2;

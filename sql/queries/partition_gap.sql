-- Holes below ?3 were looked at.
UPDATE partition SET gap_offset = ?3 WHERE incarnation_id = ?1 AND partition = ?2;

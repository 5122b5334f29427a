-- The end of the chunk of kind ?3 that begins at ?4 in partition ?2 of incarnation ?1, where it has a record at every offset.
SELECT end_offset FROM chunk
WHERE incarnation_id = ?1 AND partition = ?2 AND kind = ?3 AND first_offset = ?4 AND end_offset - first_offset = records

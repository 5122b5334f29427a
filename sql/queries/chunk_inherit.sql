-- The chunks of partition ?3 of incarnation ?1 that end at or below ?4, in incarnation ?2.
INSERT INTO chunk (incarnation_id, partition, kind, first_offset, end_offset, records, min_ms, max_ms, data)
SELECT ?2, partition, kind, first_offset, end_offset, records, min_ms, max_ms, data FROM chunk
WHERE incarnation_id = ?1 AND partition = ?3 AND end_offset <= ?4
ORDER BY kind, first_offset;

-- Partition ?3 of incarnation ?1 in incarnation ?2, up to ?4.
INSERT INTO partition (incarnation_id, partition, first_offset, next_offset, gap_offset)
SELECT ?2, partition, first_offset, min(next_offset, ?4), min(gap_offset, ?4) FROM partition WHERE incarnation_id = ?1 AND partition = ?3;

-- Indexing begins at ?3.
INSERT INTO partition (incarnation_id, partition, first_offset, next_offset, gap_offset) VALUES (?1, ?2, ?3, ?3, ?3);

SELECT partition, first_offset, next_offset, gap_offset FROM partition WHERE incarnation_id = ?1 ORDER BY partition;

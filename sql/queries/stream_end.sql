UPDATE stream SET listed = ?2, trouble = ?3 WHERE stream_id = ?1

UPDATE stream_watch SET looked = ?2 WHERE watch_id = ?1

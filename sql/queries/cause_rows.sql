SELECT partition, hash, key, home, records, first_offset, last_offset, first_ms, last_ms, stale
FROM off_home_key
WHERE topic_id = ?1
ORDER BY partition, hash, key

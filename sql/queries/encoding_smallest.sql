SELECT hash, key, partition, last_ms FROM key_history WHERE topic_id = ?1 AND hash < ?2 ORDER BY hash, key, last_ms DESC LIMIT ?3

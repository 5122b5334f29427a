-- Where a key's records stand.
SELECT partition, first_offset, last_offset, legal FROM key_state
WHERE topic_id = ?1 AND hash = ?2 AND key = ?3 AND partition IN (SELECT partition FROM horizon WHERE topic_id = ?1)
ORDER BY partition

INSERT INTO key_state (topic_id, partition, hash, key, legal, records, first_offset, last_offset, first_ms, last_ms)
SELECT c0, c1, c2, c3, c4, c5, c6, c7, c8, c9
FROM bulk

INSERT INTO unlooked_key (state_id, topic_id, hash, key)
SELECT c0, c1, c2, c3
FROM bulk

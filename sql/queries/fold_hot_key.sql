INSERT INTO hot_key (topic_id, partition, hash, key, records) SELECT c0, c1, c2, c3, c4
FROM bulk

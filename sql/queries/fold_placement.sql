INSERT INTO placement (topic_id, partition, home, legal, records, keys) SELECT c0, c1, c2, c3, c4, c5
FROM bulk

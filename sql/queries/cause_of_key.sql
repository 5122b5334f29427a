UPDATE off_home_key
SET cause = bulk.c3
FROM bulk
WHERE off_home_key.topic_id = bulk.c4 AND off_home_key.partition = bulk.c0 AND off_home_key.hash = bulk.c1
	AND off_home_key.key = bulk.c2

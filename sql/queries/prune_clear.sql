DROP TABLE IF EXISTS temp.stale_bad;
DROP TABLE IF EXISTS temp.stale_topic;

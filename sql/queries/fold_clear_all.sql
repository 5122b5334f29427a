-- Without a WHERE, SQLite gives the pages back without looking at the rows.
DELETE FROM key_state;
DELETE FROM placement;
DELETE FROM partition_state;
DELETE FROM fence_state;
DELETE FROM unlooked_key;
DELETE FROM off_home_key;
DELETE FROM topic_count;
DELETE FROM topic_state;
DELETE FROM rebase_step;
DELETE FROM hot_key;
DELETE FROM shared_key;
DELETE FROM topic_encoding;
DELETE FROM topic_resize;

DELETE FROM key_state WHERE topic_id = ?1;
DELETE FROM placement WHERE topic_id = ?1;
DELETE FROM partition_state WHERE topic_id = ?1;
DELETE FROM fence_state WHERE topic_id = ?1;
DELETE FROM unlooked_key WHERE topic_id = ?1;
DELETE FROM off_home_key WHERE topic_id = ?1;
DELETE FROM topic_count WHERE topic_id = ?1;
DELETE FROM topic_state WHERE topic_id = ?1;

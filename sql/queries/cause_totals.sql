-- Records with a key; keys off home, and those of them that are stale.
SELECT sum(records), sum(iif(legal = 0, keys, 0)), sum(iif(legal = 3, keys, 0)) FROM placement WHERE topic_id = ?1

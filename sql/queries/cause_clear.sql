-- The causes of topics that the run folded anew, and of those whose fold is gone.
DELETE FROM cause
WHERE topic_id IN (SELECT topic_id FROM topic WHERE run_id = ?1) OR topic_id NOT IN (SELECT topic_id FROM topic_state);
DELETE FROM cause_member WHERE (topic_id, cause) NOT IN (SELECT topic_id, ordinal FROM cause);
DELETE FROM cause_partition WHERE (topic_id, cause) NOT IN (SELECT topic_id, ordinal FROM cause);
DELETE FROM cause_key WHERE (topic_id, cause) NOT IN (SELECT topic_id, ordinal FROM cause);

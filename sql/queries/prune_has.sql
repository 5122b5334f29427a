-- A row where samples of the run were removed.
SELECT 1 FROM topic JOIN sample_count USING (topic_id) WHERE topic.run_id = ?1 LIMIT 1

INSERT INTO rebase_step (state_id, step, topic_id, partition, offset, ms, verdict)
SELECT c0, c1, c2, c3, c4, c5, c6
FROM bulk

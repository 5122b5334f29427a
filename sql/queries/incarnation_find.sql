-- The current incarnation of a topic (?1 cluster, ?2 topic, ?3 isolation).
SELECT incarnation_id FROM incarnation
WHERE cluster = ?1 AND topic = ?2 AND isolation = ?3 AND ended_run IS NULL
ORDER BY incarnation_id DESC LIMIT 1;

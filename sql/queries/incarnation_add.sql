INSERT INTO incarnation (cluster, topic, isolation, begun_run, compacted, policy_unknown) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

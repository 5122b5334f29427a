-- The incarnation that follows ?1. It inherits what was observed of the policy, since it may inherit records.
INSERT INTO incarnation (cluster, topic, isolation, begun_run, compacted, policy_unknown)
SELECT cluster, topic, isolation, ?2, compacted, policy_unknown FROM incarnation WHERE incarnation_id = ?1;

-- Whether holes of an incarnation may come from compaction.
SELECT compacted OR policy_unknown FROM incarnation WHERE incarnation_id = ?1;

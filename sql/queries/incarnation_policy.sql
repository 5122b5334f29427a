-- What a run observed; what was ever observed stays.
UPDATE incarnation SET compacted = max(compacted, ?2), policy_unknown = max(policy_unknown, ?3) WHERE incarnation_id = ?1;

-- The index, version 3: the records around each change of a sampled key between its legal partitions, in the order of
-- their times, offsets breaking ties, with what the contract says of them: the last before the change, and the one that
-- made it. At most 16 of a key and 100,000 of a topic.
CREATE TABLE rebase_step (
	state_id  INTEGER NOT NULL REFERENCES fence_state,
	step      INTEGER NOT NULL,                 -- rises within a key
	topic_id  INTEGER NOT NULL REFERENCES topic,
	partition INTEGER NOT NULL,
	offset    INTEGER NOT NULL,
	ms        INTEGER NOT NULL,                 -- raised to that of an earlier record of the partition where it fell below
	verdict   TEXT NOT NULL,
	PRIMARY KEY (state_id, step)
) STRICT, WITHOUT ROWID;

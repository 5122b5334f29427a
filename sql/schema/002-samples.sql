-- The index, version 2: what is left of the samples of a run once its rows of table fence were removed (keep.runs): how
-- many keys were looked at, as the report counts them. Its findings and results stay.

CREATE TABLE sample_count (
	topic_id INTEGER NOT NULL REFERENCES topic,
	strata   INTEGER NOT NULL,                  -- bits: 1 main sample, 2 recent; 0: outside both after the fold
	bad      INTEGER NOT NULL,                  -- 1: an error of a fence check names the key
	keys     INTEGER NOT NULL,
	PRIMARY KEY (topic_id, strata, bad)
) STRICT, WITHOUT ROWID;

-- The index, version 3: changes of a topic's partition count. Part of the fold, like 001-fold.sql.

-- One row per earlier count that is below the present one, with the next count above it. Keys are those of the sample
-- that had a record at their home under from_count before the change began.
CREATE TABLE topic_resize (
	topic_id       INTEGER NOT NULL REFERENCES topic,
	from_count     INTEGER NOT NULL,
	to_count       INTEGER NOT NULL,
	source         TEXT NOT NULL                -- who knew from_count: the config; an earlier run, or this one at its
	                                            -- start; else the history alone
		CHECK (source IN ('config', 'run', 'history')),
	begin_ms       INTEGER,                     -- time of the first record in a partition at or above from_count;
	                                            -- NULL: there is none, or no record before it
	begin_offset   INTEGER,                     -- which record that is
	begin_partition INTEGER,
	begin_late     INTEGER NOT NULL,            -- 1: it may have begun before: earlier records may be gone, or a run had
	                                            -- seen more partitions by then
	end_ms         INTEGER,                     -- begin_ms, the metadata age of producers, and as much as record
	                                            -- times fall: a record later than that knows better
	keys           INTEGER NOT NULL,
	kept           INTEGER NOT NULL,            -- of them, those with the same home under both counts
	kept_expected  REAL NOT NULL,               -- how many that should be
	rebased        INTEGER NOT NULL,            -- those with records at their home under a later count
	to_rebase      INTEGER NOT NULL,            -- those that their next record will move
	waiting        INTEGER NOT NULL,            -- fences at the home under from_count that will have to move
	stale_keys     INTEGER NOT NULL,            -- rows of off_home_key from producers that went on with from_count
	stale_records  INTEGER NOT NULL,
	proof_keys     INTEGER,                     -- source history: keys looked at before the change, as many as they
	proof_from     INTEGER,                     -- have partitions; those at home under from_count; those of them at
	proof_alone    INTEGER,                     -- home under no count that was known
	PRIMARY KEY (topic_id, from_count)
) STRICT, WITHOUT ROWID;

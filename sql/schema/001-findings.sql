-- The index, version 1: what the checks said. Written by the analyzer, read by the reports.

CREATE TABLE check_result (
	run_id    INTEGER NOT NULL REFERENCES run,
	pipeline  TEXT NOT NULL,
	name      TEXT NOT NULL,
	ordinal   INTEGER NOT NULL,                 -- the order in which checks are shown
	severity  TEXT NOT NULL CHECK (severity IN ('info', 'warning', 'error')),
	title     TEXT NOT NULL,
	status    TEXT NOT NULL CHECK (status IN ('pass', 'fail', 'empty', 'error', 'skip')),
	examined  INTEGER NOT NULL DEFAULT 0,
	findings  INTEGER NOT NULL DEFAULT 0,       -- exact, also where fewer were kept
	kept      INTEGER NOT NULL DEFAULT 0,
	trouble   TEXT,                             -- status error: why
	PRIMARY KEY (run_id, pipeline, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE unverifiable (
	run_id   INTEGER NOT NULL REFERENCES run,
	pipeline TEXT NOT NULL,
	name     TEXT NOT NULL,
	reason   TEXT NOT NULL,
	subjects INTEGER NOT NULL,
	PRIMARY KEY (run_id, pipeline, name, reason)
) STRICT, WITHOUT ROWID;

CREATE TABLE finding (
	run_id    INTEGER NOT NULL REFERENCES run,
	name      TEXT NOT NULL,                    -- the check
	pipeline  TEXT NOT NULL,
	ordinal   INTEGER NOT NULL,                 -- the fixed order within check and pipeline
	id        TEXT NOT NULL,                    -- stable across runs
	severity  TEXT NOT NULL,
	topic     TEXT,
	partition INTEGER,
	offset    INTEGER,
	key       BLOB,
	redis_key BLOB,
	stream    BLOB,
	grp       BLOB,
	consumer  BLOB,
	entry     TEXT,
	detail    TEXT NOT NULL,
	evidence  TEXT NOT NULL,                    -- JSON object
	remedy    TEXT NOT NULL,
	PRIMARY KEY (run_id, pipeline, name, ordinal)
) STRICT, WITHOUT ROWID;

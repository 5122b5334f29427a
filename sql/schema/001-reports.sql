-- The index, version 1: the reports that were written, so that each manifest can name the one before it.

CREATE TABLE report (
	run_id          INTEGER PRIMARY KEY REFERENCES run,
	manifest_sha256 TEXT NOT NULL,              -- of manifest.json as it was written last
	previous_run    INTEGER,                    -- the newest run before this one that had a report when this one's was first written
	previous_sha256 TEXT,                       -- of its manifest.json then; NULL: there was none
	directory       TEXT NOT NULL,              -- as it was named
	written_us      INTEGER NOT NULL
) STRICT;

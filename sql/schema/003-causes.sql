-- The index, version 3: why records stand off home. Part of the fold, like 001-fold.sql.

-- One row for each cause that was found for the rows of off_home_key, and for what is left of them.
CREATE TABLE cause (
	topic_id    INTEGER NOT NULL REFERENCES topic,
	ordinal     INTEGER NOT NULL,
	kind        TEXT NOT NULL CHECK (kind IN ('partitioner', 'partition-count', 'stale-metadata', 'empty-key',
		'not-the-key', 'unknown')),
	confidence  TEXT NOT NULL CHECK (confidence IN ('certain', 'ambiguous', 'unknown')),
	identity    TEXT NOT NULL,                  -- kind and placement: the same one in the next run
	finding_id  TEXT NOT NULL,                  -- of the finding of copartition-cause
	classes     INTEGER NOT NULL,               -- of placements that what was seen can tell apart
	members     INTEGER NOT NULL,               -- placements, those that are not in cause_member included
	sign        TEXT,                           -- not-the-key: several-partitions, one-partition
	remedy      TEXT NOT NULL,
	tested_hypotheses INTEGER NOT NULL,         -- partitioners x parts of the key x partition counts; 0: none was needed
	tested_keys INTEGER NOT NULL,
	needed_keys INTEGER NOT NULL,               -- fewer keys cannot give an answer
	exact       INTEGER NOT NULL,               -- 1: off_home_key has every key; 0: keys, records and what is said of
	                                            -- partitions are those of the keys that it has
	keys        INTEGER NOT NULL,               -- distinct
	records     INTEGER NOT NULL,
	share       REAL,                           -- of the topic's records with a key, what the producer wrote, those at
	                                            -- home included; NULL: not known
	differs     REAL,                           -- of all keys, those that the placement puts elsewhere than home
	pattern     TEXT CHECK (pattern IN ('switched', 'interleaved')), -- NULL: not known
	density     REAL,                           -- of the records with a key while it lasted, in its partitions, those off
	                                            -- home
	over        INTEGER NOT NULL,               -- 1: it has ended, by the number of records after it
	first_partition INTEGER NOT NULL,           -- the earliest and the latest record by time
	first_offset    INTEGER NOT NULL,
	first_ms        INTEGER NOT NULL,
	last_partition  INTEGER NOT NULL,
	last_offset     INTEGER NOT NULL,
	last_ms         INTEGER NOT NULL,
	PRIMARY KEY (topic_id, ordinal)
) STRICT, WITHOUT ROWID;

-- The placements that explain it, the simplest first. Those of one class agree on every key seen.
CREATE TABLE cause_member (
	topic_id    INTEGER NOT NULL REFERENCES topic,
	cause       INTEGER NOT NULL,               -- cause.ordinal
	ordinal     INTEGER NOT NULL,
	class       INTEGER NOT NULL,
	partitioner TEXT NOT NULL,
	part        TEXT NOT NULL,
	partitions  INTEGER NOT NULL,
	users       TEXT NOT NULL,
	PRIMARY KEY (topic_id, cause, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE cause_partition (
	topic_id     INTEGER NOT NULL REFERENCES topic,
	cause        INTEGER NOT NULL,
	partition    INTEGER NOT NULL,
	keys         INTEGER NOT NULL,
	records      INTEGER NOT NULL,
	first_offset INTEGER NOT NULL,
	first_ms     INTEGER NOT NULL,
	last_offset  INTEGER NOT NULL,
	last_ms      INTEGER NOT NULL,
	PRIMARY KEY (topic_id, cause, partition)
) STRICT, WITHOUT ROWID;

-- A few of its keys, those with the smallest hashes.
CREATE TABLE cause_key (
	topic_id  INTEGER NOT NULL REFERENCES topic,
	cause     INTEGER NOT NULL,
	ordinal   INTEGER NOT NULL,
	key       BLOB NOT NULL,
	partition INTEGER NOT NULL,
	home      INTEGER NOT NULL,
	placed    INTEGER,                          -- where the first placement puts it; NULL: there is none
	PRIMARY KEY (topic_id, cause, ordinal)
) STRICT, WITHOUT ROWID;

ALTER TABLE off_home_key ADD COLUMN cause INTEGER; -- cause.ordinal

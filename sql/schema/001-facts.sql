-- The index, version 1: facts. A fact is what a run saw; it is written once and never changed.
-- Offsets are half-open ranges [start, end). Times are microseconds since 1970 UTC (_us); record times are milliseconds (_ms).
-- NULL is "not known"; 0 is a number.

CREATE TABLE run (
	run_id        INTEGER PRIMARY KEY,
	command       TEXT NOT NULL,                -- audit, replay, sample
	tool          TEXT NOT NULL,                -- fencepost and its version
	config        TEXT NOT NULL,                -- the config file, as it was named
	config_sha256 TEXT NOT NULL,
	started_us    INTEGER NOT NULL,
	finished_us   INTEGER,                      -- NULL: still running, or killed
	reached       TEXT NOT NULL DEFAULT 'begun'
		CHECK (reached IN ('begun', 'replayed', 'sampled', 'checked', 'reported')),
	since_us      INTEGER,                      -- audit --since: only keys written since
	all_keys      INTEGER NOT NULL DEFAULT 0    -- audit --all
) STRICT;

-- Settings outside the pipelines, as they were in force, without secrets: fail.on, sample.keys, recent, max.findings ...
CREATE TABLE setting (
	run_id INTEGER NOT NULL REFERENCES run,
	name   TEXT NOT NULL,
	value  TEXT NOT NULL,
	PRIMARY KEY (run_id, name)
) STRICT, WITHOUT ROWID;

-- How long each stage took.
CREATE TABLE stage (
	run_id      INTEGER NOT NULL REFERENCES run,
	name        TEXT NOT NULL,                  -- replay, sample, tail, fold, check, report
	started_us  INTEGER NOT NULL,
	duration_us INTEGER NOT NULL,
	PRIMARY KEY (run_id, name)
) STRICT, WITHOUT ROWID;

-- What could not be looked at. Any row makes the run incomplete.
CREATE TABLE trouble (
	trouble_id INTEGER PRIMARY KEY,
	run_id     INTEGER NOT NULL REFERENCES run,
	stage      TEXT NOT NULL,
	pipeline   TEXT,                            -- NULL: the whole run
	topic      TEXT,
	partition  INTEGER,
	text       TEXT NOT NULL
) STRICT;
CREATE INDEX trouble_run ON trouble (run_id);

CREATE TABLE pipeline (
	pipeline_id     INTEGER PRIMARY KEY,
	run_id          INTEGER NOT NULL REFERENCES run,
	name            TEXT NOT NULL,
	mapping_sha256  TEXT NOT NULL,              -- of what maps a record key to a Redis key: server, templates, format
	kafka           TEXT NOT NULL,              -- bootstrap servers
	group_id        TEXT,
	redis           TEXT,                       -- address without secrets; NULL: a pipeline without Redis
	key_template    TEXT,
	key_format      TEXT,
	epoch_template  TEXT,
	field_offset    TEXT,
	field_partition TEXT,
	field_value     TEXT,
	state           TEXT NOT NULL CHECK (state IN ('opaque', 'last', 'count', 'sum')),
	tombstones      TEXT NOT NULL CHECK (tombstones IN ('apply', 'ignore', 'delete')),
	expires_ms      INTEGER,                    -- NULL: keys do not expire by design
	isolation       TEXT NOT NULL CHECK (isolation IN ('read_committed', 'read_uncommitted')),
	horizon         TEXT NOT NULL CHECK (horizon IN ('committed', 'age')),
	horizon_age_ms  INTEGER,
	from_kind       TEXT NOT NULL CHECK (from_kind IN ('beginning', 'time', 'offsets')),
	from_us         INTEGER,
	rejects         TEXT NOT NULL CHECK (rejects IN ('none', 'dlq', 'silent')),
	dlq             TEXT,
	dlq_header      TEXT,
	expect_empty    INTEGER NOT NULL DEFAULT 0,
	recent_ms       INTEGER NOT NULL,
	group_state     TEXT,                       -- Empty, Stable ...; NULL: not known
	group_members   INTEGER,
	group_us        INTEGER,
	mapping         TEXT NOT NULL DEFAULT 'unknown'
		CHECK (mapping IN ('fits', 'unknown', 'broken')),  -- unknown: too few keys on a side to say
	mapping_hint    TEXT,                       -- the key.format that would fit, where one does
	replica         TEXT                        -- NULL: a master was sampled; 'passed': a replica that had passed the
	                                            -- master's offset; else why it could not be shown
) STRICT;
CREATE UNIQUE INDEX pipeline_name ON pipeline (run_id, name);

-- Earlier partition counts from the config, the latest first.
CREATE TABLE partitions_before (
	pipeline_id INTEGER NOT NULL REFERENCES pipeline,
	ordinal     INTEGER NOT NULL,
	partitions  INTEGER NOT NULL,
	PRIMARY KEY (pipeline_id, ordinal)
) STRICT, WITHOUT ROWID;

-- A topic from its creation to its deletion, as read under one isolation level.
CREATE TABLE incarnation (
	incarnation_id INTEGER PRIMARY KEY,
	cluster        TEXT NOT NULL,               -- cluster id, or the bootstrap servers where the broker has none
	topic          TEXT NOT NULL,
	isolation      TEXT NOT NULL,
	begun_run      INTEGER NOT NULL REFERENCES run,
	ended_run      INTEGER REFERENCES run,      -- NULL: the current one
	compacted      INTEGER NOT NULL DEFAULT 0,  -- 1: a cleanup policy with compact was ever observed
	policy_unknown INTEGER NOT NULL DEFAULT 0   -- 1: a run could not read the cleanup policy
) STRICT;
CREATE INDEX incarnation_topic ON incarnation (cluster, topic, isolation);

-- How far the index has come, per partition of an incarnation. Changes in the transaction that adds the chunks.
CREATE TABLE partition (
	incarnation_id INTEGER NOT NULL REFERENCES incarnation,
	partition      INTEGER NOT NULL,
	first_offset   INTEGER NOT NULL,            -- where indexing began: everything in [first, next) was looked at
	next_offset    INTEGER NOT NULL,
	gap_offset     INTEGER NOT NULL,            -- holes below this were re-read for aborted records
	PRIMARY KEY (incarnation_id, partition)
) STRICT, WITHOUT ROWID;

-- History: see sql/chunk.h for the format of data.
CREATE TABLE chunk (
	chunk_id       INTEGER PRIMARY KEY,
	incarnation_id INTEGER NOT NULL REFERENCES incarnation,
	partition      INTEGER NOT NULL,
	kind           INTEGER NOT NULL CHECK (kind IN (0, 1)),  -- 0 committed, 1 aborted
	first_offset   INTEGER NOT NULL,
	end_offset     INTEGER NOT NULL,            -- last record's offset + 1
	records        INTEGER NOT NULL,
	min_ms         INTEGER NOT NULL,            -- record timestamps, [min, max]: both inside
	max_ms         INTEGER NOT NULL,
	data           BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX chunk_place ON chunk (incarnation_id, partition, kind, first_offset);

-- Holes whose class cannot be told from the chunks: trimmed under the replay, or never re-read.
CREATE TABLE gap_range (
	incarnation_id INTEGER NOT NULL REFERENCES incarnation,
	partition      INTEGER NOT NULL,
	start_offset   INTEGER NOT NULL,
	end_offset     INTEGER NOT NULL,
	class          TEXT NOT NULL CHECK (class IN ('trimmed', 'unknown')),
	run_id         INTEGER NOT NULL REFERENCES run,
	PRIMARY KEY (incarnation_id, partition, start_offset, class)
) STRICT, WITHOUT ROWID;

-- A topic as a run saw it, for one pipeline.
CREATE TABLE topic (
	topic_id       INTEGER PRIMARY KEY,
	run_id         INTEGER NOT NULL REFERENCES run,
	pipeline_id    INTEGER NOT NULL REFERENCES pipeline,
	topic          TEXT NOT NULL,
	role           TEXT NOT NULL CHECK (role IN ('source', 'dlq', 'copartitioned')),
	incarnation_id INTEGER REFERENCES incarnation,  -- NULL: could not be read
	partitions     INTEGER,                     -- the count when the ends E were read
	partitions_at_start INTEGER,                -- the count when the run began
	cleanup_policy TEXT,                        -- NULL: not known
	retention_ms   INTEGER,                     -- -1: infinite; NULL: not known
	timestamp_type TEXT,
	main_threshold   INTEGER,                   -- T: a key is in the main sample when its hash < T; NULL: not sampled
	recent_threshold INTEGER,                   -- the same for the stratum of recent keys
	main_keys        INTEGER,                   -- record keys in the main sample
	recent_keys      INTEGER,                   -- record keys in the recent stratum
	recent_from_ms   INTEGER,                   -- record time from which keys count as recent
	history_keys     INTEGER,                   -- distinct keys of the history; estimated where main_threshold < 2^63-1
	redis_keys       INTEGER,                   -- Redis keys that the scan showed under the template
	redis_keys_taken INTEGER,                   -- those of them in the sample
	scan_complete    INTEGER                    -- 1: the scan reached its end; 0: it did not; NULL: none was made
) STRICT;
CREATE UNIQUE INDEX topic_name ON topic (pipeline_id, topic, role);
CREATE INDEX topic_incarnation ON topic (incarnation_id, run_id);

-- What a run read of each partition, and when (DESIGN: the order of looking).
CREATE TABLE horizon (
	run_id             INTEGER NOT NULL REFERENCES run,
	topic_id           INTEGER NOT NULL REFERENCES topic,
	partition          INTEGER NOT NULL,
	log_start          INTEGER,                 -- step 1
	log_start_us       INTEGER,
	end_first          INTEGER,                 -- step 1: the end that the bulk replay went to
	end_first_us       INTEGER,
	log_start_before_commit    INTEGER,         -- step 2, before C
	log_start_before_commit_us INTEGER,
	high_watermark_before_commit INTEGER,       -- step 2: nothing above it can have been applied before C was read; of a DLQ, read after C
	high_watermark_before_commit_us INTEGER,
	committed          INTEGER,                 -- C; NULL: none, or not readable (then commit_trouble says why)
	committed_us       INTEGER,
	commit_trouble     TEXT,
	last_stable        INTEGER,                 -- step 4: E
	last_stable_us     INTEGER,
	high_watermark     INTEGER,
	high_watermark_us  INTEGER,
	last_high_watermark    INTEGER,             -- step 5
	last_high_watermark_us INTEGER,
	indexed_start      INTEGER,
	indexed_end        INTEGER,
	from_offset        INTEGER,                 -- of the config's "from"; NULL: beginning
	start_offset       INTEGER,                 -- the horizon; NULL: the partition has none,
	end_offset         INTEGER,
	reason             TEXT,                    -- and why: no-commit, commit-unknown, empty, not-yet-old, replay-only
	end_source         TEXT,                    -- committed, committed in run N, age
	covered            INTEGER NOT NULL DEFAULT 1, -- 0: not replayed to its end; trouble says why
	records            INTEGER,                 -- committed records indexed
	PRIMARY KEY (topic_id, partition)
) STRICT, WITHOUT ROWID;

-- One row per sampled Redis key, absent ones included where they were asked for.
CREATE TABLE fence (
	fence_id      INTEGER PRIMARY KEY,
	run_id        INTEGER NOT NULL REFERENCES run,
	topic_id      INTEGER NOT NULL REFERENCES topic,
	hash          INTEGER NOT NULL,             -- xxh3(key) >> 1, of the record key
	key           BLOB NOT NULL,                -- the record key
	redis_key     BLOB NOT NULL,
	strata        INTEGER NOT NULL,             -- bits: 1 main sample, 2 recent
	sampled_us    INTEGER NOT NULL,
	present       INTEGER NOT NULL,             -- 0: asked for and not there
	type          TEXT,                         -- NULL: a hash; else what is there instead
	partition     INTEGER,                      -- NULL where malformed
	offset        INTEGER,
	malformed     TEXT,                         -- what is wrong, in words
	partition_raw BLOB,                         -- as stored, where malformed
	offset_raw    BLOB,
	value_hash    INTEGER,                      -- XXH3 of the value field, as int64; state = last
	value_number  INTEGER,                      -- state = count or sum
	value_raw     BLOB,                         -- as stored, where it is no decimal int64; at most 256 bytes
	ttl_ms        INTEGER,                      -- -1: none
	field_ttl_ms  INTEGER,                      -- the least of the fence's fields; -1: none; NULL: the server has none
	slot          INTEGER,
	node          TEXT
) STRICT;
CREATE INDEX fence_topic ON fence (topic_id);

CREATE TABLE epoch (
	run_id     INTEGER NOT NULL REFERENCES run,
	topic_id   INTEGER NOT NULL REFERENCES topic,
	partition  INTEGER NOT NULL,
	redis_key  BLOB NOT NULL,
	read_us    INTEGER NOT NULL,
	present    INTEGER NOT NULL,
	value      INTEGER,
	malformed  TEXT,
	PRIMARY KEY (topic_id, partition)
) STRICT, WITHOUT ROWID;

CREATE TABLE redis_server (
	server_id  INTEGER PRIMARY KEY,
	run_id     INTEGER NOT NULL REFERENCES run,
	address    TEXT NOT NULL,
	read_us    INTEGER NOT NULL,
	role       TEXT,
	version    TEXT,
	process    TEXT,                            -- INFO's run_id
	replid     TEXT,
	replid2    TEXT,
	repl_offset        INTEGER,
	second_repl_offset INTEGER,
	uptime_s   INTEGER,
	keys       INTEGER                          -- of the database in use
) STRICT;
CREATE UNIQUE INDEX redis_server_address ON redis_server (run_id, address);

-- INFO, as the server gave it.
CREATE TABLE redis_info (
	server_id INTEGER NOT NULL REFERENCES redis_server,
	name      TEXT NOT NULL,
	value     TEXT NOT NULL,
	PRIMARY KEY (server_id, name)
) STRICT, WITHOUT ROWID;

-- A topic whose history is another one than the index holds: re-created, or its end fell.
CREATE TABLE rewrite (
	rewrite_id         INTEGER PRIMARY KEY,
	run_id             INTEGER NOT NULL REFERENCES run,
	cluster            TEXT NOT NULL,
	topic              TEXT NOT NULL,
	partition          INTEGER NOT NULL,
	kind               TEXT NOT NULL CHECK (kind IN ('differs', 'fell')),
	offset             INTEGER NOT NULL,        -- differs: the first offset at which a different record was seen; fell: the new end
	old_incarnation_id INTEGER NOT NULL REFERENCES incarnation,
	new_incarnation_id INTEGER NOT NULL REFERENCES incarnation,
	evidence           TEXT NOT NULL            -- JSON: the record indexed and the record read
) STRICT;
CREATE INDEX rewrite_run ON rewrite (run_id);

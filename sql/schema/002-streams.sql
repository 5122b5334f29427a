-- The index, version 2: streams of Redis, and what is asked of the servers that hold fences and streams.
-- Entry ids are blobs of 16 bytes, milliseconds and sequence number, both big-endian: they sort as Redis sorts them.
-- entry_text(id) shows them as Redis does.

ALTER TABLE pipeline ADD COLUMN cluster_plan INTEGER NOT NULL DEFAULT 0; -- 1: judged as if it were to run in a cluster

ALTER TABLE redis_server ADD COLUMN server_us INTEGER;      -- the server's clock; NULL: it may not be asked
ALTER TABLE redis_server ADD COLUMN host_us INTEGER;        -- this host's, half way between the question and the answer
ALTER TABLE redis_server ADD COLUMN answered_in_us INTEGER; -- how long the answer took
ALTER TABLE redis_server ADD COLUMN settings_trouble TEXT;  -- why CONFIG GET gave nothing; NULL: redis_setting has it

-- CONFIG GET, of the settings that a check reads.
CREATE TABLE redis_setting (
	server_id INTEGER NOT NULL REFERENCES redis_server,
	name      TEXT NOT NULL,
	value     TEXT NOT NULL,
	PRIMARY KEY (server_id, name)
) STRICT, WITHOUT ROWID;

-- An entry of streams: in the config.
CREATE TABLE stream_watch (
	watch_id       INTEGER PRIMARY KEY,
	run_id         INTEGER NOT NULL REFERENCES run,
	name           TEXT NOT NULL,
	redis          TEXT NOT NULL,               -- address without secrets
	key            TEXT NOT NULL,               -- name or glob
	group_name     TEXT NOT NULL,               -- name or glob
	excluded       TEXT NOT NULL,               -- groups that are left out: a JSON list of names or globs
	idle_ms        INTEGER NOT NULL,            -- stuck: pending so long since the last delivery
	deliveries     INTEGER NOT NULL,            -- poison: delivered so often
	dlq            TEXT,
	lag_max        INTEGER,                     -- NULL: not judged
	backlog_age_max_ms   INTEGER,
	consumer_idle_max_ms INTEGER,
	length_max     INTEGER,
	pending_keys   INTEGER NOT NULL,            -- pending entries of a group that are kept at most
	looked         INTEGER                      -- 1: all its streams were found and asked; 0: not; NULL: it was never begun
) STRICT;
CREATE UNIQUE INDEX stream_watch_name ON stream_watch (run_id, name);

-- A stream of a watch. One that an earlier run saw and that is gone has present 0.
CREATE TABLE stream (
	stream_id      INTEGER PRIMARY KEY,
	run_id         INTEGER NOT NULL REFERENCES run,
	watch_id       INTEGER NOT NULL REFERENCES stream_watch,
	redis_key      BLOB NOT NULL,
	role           TEXT NOT NULL CHECK (role IN ('source', 'dlq')),
	present        INTEGER NOT NULL,
	trouble        TEXT,                        -- why it could not be looked at; NULL: it was
	read_us        INTEGER NOT NULL,            -- this host's clock
	server_ms      INTEGER,                     -- the server's clock at about the same time; NULL: not known
	length         INTEGER,                     -- XINFO STREAM, before the groups were asked
	last_generated BLOB,
	first_entry    BLOB,                        -- NULL where the stream is empty
	last_entry     BLOB,
	max_deleted    BLOB,                        -- 0-0: no entry was ever deleted by its id; NULL: the server does not say
	entries_added  INTEGER,                     -- NULL: the server does not say
	groups         INTEGER,
	listed         INTEGER                      -- role dlq: entries kept in stream_dlq_entry; fewer than length: the newest
) STRICT;
CREATE UNIQUE INDEX stream_key ON stream (watch_id, role, redis_key);
CREATE INDEX stream_run ON stream (run_id);

-- A group of a stream: XINFO GROUPS before the pending entries were read, and (_after) once they had been.
CREATE TABLE stream_group (
	group_id       INTEGER PRIMARY KEY,
	run_id         INTEGER NOT NULL REFERENCES run,
	stream_id      INTEGER NOT NULL REFERENCES stream,
	name           BLOB NOT NULL,
	trouble        TEXT,                        -- why its consumers or pending entries could not be read to their end
	read_us        INTEGER NOT NULL,
	consumers      INTEGER,
	pending        INTEGER,
	last_delivered BLOB,                        -- NULL: the stream has no group of that name
	entries_read   INTEGER,                     -- NULL: the server does not know it, or not say it
	lag            INTEGER,                     -- likewise
	consumers_after      INTEGER,               -- all of them NULL: the group was gone
	pending_after        INTEGER,
	last_delivered_after BLOB,
	entries_read_after   INTEGER,
	lag_after            INTEGER,
	threshold      INTEGER,                     -- T: an entry is kept when xxh3(id) < T; 2^63-1: all
	listed         INTEGER,                     -- pending entries that the pages gave
	kept           INTEGER,                     -- rows of pending
	acknowledged   INTEGER                      -- listed, and no longer pending at the second look
) STRICT;
CREATE UNIQUE INDEX stream_group_name ON stream_group (stream_id, name);
CREATE INDEX stream_group_run ON stream_group (run_id);

CREATE TABLE stream_consumer (
	consumer_id  INTEGER PRIMARY KEY,
	run_id       INTEGER NOT NULL REFERENCES run,
	group_id     INTEGER NOT NULL REFERENCES stream_group,
	name         BLOB NOT NULL,
	pending      INTEGER,
	idle_ms      INTEGER,                       -- since it last asked
	inactive_ms  INTEGER                        -- since it last got something; -1: never; NULL: the server does not say
) STRICT;
CREATE UNIQUE INDEX stream_consumer_name ON stream_consumer (group_id, name);

-- Pending entries that are in the sample of their group. Suspects, which are late, poison or gone from the stream, are as
-- a second look found them.
CREATE TABLE pending (
	group_id    INTEGER NOT NULL REFERENCES stream_group,
	entry       BLOB NOT NULL,
	consumer_id INTEGER,                        -- NULL: no consumer holds it, or one that came after the consumers were read
	consumer    BLOB,                           -- its name, where consumer_id is NULL
	idle_ms     INTEGER,                        -- since the last delivery; NULL: given back, in nobody's hands
	deliveries  INTEGER NOT NULL,
	present     INTEGER,                        -- 1: the stream has the entry; 0: it does not; NULL: not looked at
	content     INTEGER,                        -- XXH3 of its fields and values, as XRANGE gave them
	PRIMARY KEY (group_id, entry)
) STRICT, WITHOUT ROWID;

-- All that the pages gave, the sample and the rest: floor(log2(milliseconds)) of the idle time (-1: below one), and
-- deliveries (the last is "or more").
CREATE TABLE pending_count (
	group_id   INTEGER NOT NULL REFERENCES stream_group,
	idle_log2  INTEGER NOT NULL,
	deliveries INTEGER NOT NULL,
	entries    INTEGER NOT NULL,
	PRIMARY KEY (group_id, idle_log2, deliveries)
) STRICT, WITHOUT ROWID;

-- Entries of a dead-letter stream, and what they tell of where they came from.
CREATE TABLE stream_dlq_entry (
	stream_id INTEGER NOT NULL REFERENCES stream,
	entry     BLOB NOT NULL,
	source    BLOB,                             -- the first of its values that is an entry id, of a time if one is
	grp       BLOB,                             -- the first of its values that is a group of the watch's streams
	content   INTEGER NOT NULL,                 -- as in pending
	PRIMARY KEY (stream_id, entry)
) STRICT, WITHOUT ROWID;
CREATE INDEX stream_dlq_source ON stream_dlq_entry (stream_id, source);
CREATE INDEX stream_dlq_content ON stream_dlq_entry (stream_id, content);

-- What checks speak of: pipelines, streams of the config, Redis servers. The word stands in the column pipeline of
-- check_result, unverifiable, finding and trouble. A server is one whatever database of it is used.
CREATE VIEW scope (run_id, scope, kind, name, place) AS
	SELECT run_id, name, 'pipeline', name, pipeline_id FROM pipeline
	UNION ALL
	SELECT run_id, 'streams/' || name, 'stream', name, watch_id FROM stream_watch
	UNION ALL
	SELECT run_id, 'redis/' || host, 'server', host, min(server_id)
	FROM (SELECT run_id, server_id, rtrim(rtrim(address, '0123456789'), '/') AS host FROM redis_server)
	GROUP BY run_id, host;

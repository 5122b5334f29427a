-- The index, version 1: the fold. For the newest checked run of each pipeline only; derived, and rebuilt at will.
-- Offsets are half-open ranges [start, end). Times are microseconds since 1970 UTC (_us); record times are milliseconds
-- (_ms). A partition is legal for a key when it is the key's home under a count in topic_count: 1 under the present
-- count, 2 under an earlier one alone, 0 under none.

-- What the fold says of a topic.
CREATE TABLE topic_state (
	topic_id   INTEGER PRIMARY KEY REFERENCES topic,
	run_id     INTEGER NOT NULL REFERENCES run,
	threshold  INTEGER NOT NULL,                -- sampled record keys: hash < threshold; the recent stratum besides
	null_keys  INTEGER NOT NULL,                -- records without a key
	incomplete TEXT,                            -- why the history does not hold every record ever written; NULL: it
	                                            -- does
	dlq        TEXT                             -- why the records it rejected are not all known; NULL: they are
) STRICT;

-- The partition counts that the topic has had: ordinal 0 is the present one, then the latest first.
CREATE TABLE topic_count (
	topic_id   INTEGER NOT NULL REFERENCES topic,
	ordinal    INTEGER NOT NULL,
	partitions INTEGER NOT NULL,
	PRIMARY KEY (topic_id, ordinal)
) STRICT, WITHOUT ROWID;

-- What the fold says of a partition, up to horizon.indexed_end.
CREATE TABLE partition_state (
	topic_id     INTEGER NOT NULL REFERENCES topic,
	partition    INTEGER NOT NULL,
	first_offset INTEGER,                       -- where indexing began; NULL: never
	records      INTEGER NOT NULL,              -- committed ones
	aborted      INTEGER NOT NULL,
	holes        INTEGER NOT NULL,              -- offsets with neither: markers and all that is gone
	hole_end     INTEGER NOT NULL,              -- a record may be gone from below this offset; 0: none is
	complete     INTEGER NOT NULL,              -- 1: every record ever written is here
	from_complete INTEGER NOT NULL,             -- 1: every record since the config's "from" is here
	waiting_ms   INTEGER,                       -- time of the first record at or above the commit; NULL: nothing
	                                            -- waits, or no commit
	expired_records INTEGER NOT NULL,           -- records in [C, log start read before C)
	expired_first   INTEGER,
	expired_last    INTEGER,
	expired_first_ms INTEGER,
	expired_last_ms  INTEGER,
	PRIMARY KEY (topic_id, partition)
) STRICT, WITHOUT ROWID;

-- Every record with a key of a topic: where it stands against its home now. Exact.
CREATE TABLE placement (
	topic_id  INTEGER NOT NULL REFERENCES topic,
	partition INTEGER NOT NULL,
	home      INTEGER NOT NULL,
	legal     INTEGER NOT NULL,
	records   INTEGER NOT NULL,
	keys      INTEGER NOT NULL,                 -- distinct
	PRIMARY KEY (topic_id, partition, home, legal)
) STRICT, WITHOUT ROWID;

-- Keys with records in a partition that is not legal for them; at most 100,000, those with the smallest hashes.
CREATE TABLE off_home_key (
	topic_id     INTEGER NOT NULL REFERENCES topic,
	partition    INTEGER NOT NULL,
	hash         INTEGER NOT NULL,
	key          BLOB NOT NULL,
	home         INTEGER NOT NULL,
	records      INTEGER NOT NULL,
	first_offset INTEGER NOT NULL,
	last_offset  INTEGER NOT NULL,
	first_ms     INTEGER NOT NULL,              -- times of those two records
	last_ms      INTEGER NOT NULL,
	PRIMARY KEY (topic_id, partition, hash, key)
) STRICT, WITHOUT ROWID;

-- History of a sampled key in one partition: all committed records. A key whose records all stand at its home has no
-- row where fence_state says as much; view key_history has every key.
CREATE TABLE key_state (
	topic_id     INTEGER NOT NULL REFERENCES topic,
	partition    INTEGER NOT NULL,
	hash         INTEGER NOT NULL,
	key          BLOB NOT NULL,
	legal        INTEGER NOT NULL,
	records      INTEGER NOT NULL,
	first_offset INTEGER NOT NULL,
	last_offset  INTEGER NOT NULL,
	first_ms     INTEGER NOT NULL,              -- times of those two records
	last_ms      INTEGER NOT NULL,
	PRIMARY KEY (topic_id, partition, hash, key)
) STRICT, WITHOUT ROWID;

-- One row per sampled key of either side, in the order of table fence: what history demands, and what the record at the
-- fence is. "older" is the older legal partition with binding records whose count is the latest; a record there is
-- certain when a resized worker cannot have sent it to the DLQ unseen.
CREATE TABLE fence_state (
	state_id      INTEGER PRIMARY KEY,          -- fence_id of the sample, which has the key; below 0: see
	                                            -- unlooked_key
	topic_id      INTEGER NOT NULL REFERENCES topic,
	home          INTEGER,                      -- NULL: the partition count is not known
	records       INTEGER NOT NULL,             -- committed ones, in all partitions
	legal_partitions INTEGER NOT NULL,          -- legal ones that hold records of it
	rebases       INTEGER NOT NULL,             -- how often its records changed between them, by time, offsets
	                                            -- breaking ties
	newest_ms     INTEGER,                      -- time of its newest record in a legal partition
	unproven      INTEGER,                      -- a legal partition, home first, that was not replayed to its end,
	                                            -- or that holds records of it
	                                            -- and has no horizon
	elsewhere     INTEGER NOT NULL,             -- 1: known from aborted records or an earlier incarnation
	fence_legal   INTEGER,                      -- NULL: no well-formed fence, or home not known
	at_fence      TEXT,                         -- own, other, aborted, aborted-other: the record at the fence, else
	                                            -- why there is none:
	                                            -- gap, not-indexed, unstable, not-replayed
	fence_ms      INTEGER,                      -- its time
	fence_tombstone INTEGER,
	home_records  INTEGER NOT NULL,             -- committed ones at home
	home_first    INTEGER,                      -- where all records of the key are at home, its first and last one
	                                            -- and the time of the first
	home_last     INTEGER,
	home_first_ms INTEGER,
	home_offset   INTEGER,                      -- newest binding record at home
	home_ms       INTEGER,
	home_lost     INTEGER NOT NULL,             -- binding records at home above the fence; all, where the fence is
	                                            -- not there
	home_lost_first    INTEGER,
	home_lost_first_ms INTEGER,
	home_tombstone     INTEGER,                 -- tombstones = delete: newest tombstone at home inside the horizon,
	home_tombstone_any INTEGER,                 -- and anywhere
	older         INTEGER,
	older_offset  INTEGER,                      -- newest binding and certain record there
	older_ms      INTEGER,
	older_unsure  INTEGER,                      -- newest binding record there that is not certain
	older_lost    INTEGER NOT NULL,             -- certain ones above the fence
	older_lost_first    INTEGER,
	older_lost_first_ms INTEGER,
	older_tombstone     INTEGER,                -- newest tombstone there; where older is NULL, in another older
	                                            -- legal partition
	applied       INTEGER,                      -- state = count or sum: records applied since the last delete, the
	                                            -- one at the fence included
	applied_sum   INTEGER,                      -- NULL: a value is no int64, or the sum is none
	value_hash    INTEGER,                      -- state = last: of the record at the fence
	rejected      INTEGER                       -- state = count or sum: records since the last delete, up to the fence,
	                                            -- that are not among applied, because the DLQ names them
) STRICT;

CREATE VIEW key_history (topic_id, partition, hash, key, legal, records, first_offset, last_offset, first_ms,
	last_ms) AS
SELECT topic_id, partition, hash, key, legal, records, first_offset, last_offset, first_ms, last_ms
FROM key_state
UNION ALL
SELECT s.topic_id, s.home, fence.hash, fence.key, 1, s.records, s.home_first, s.home_last, s.home_first_ms, s.newest_ms
FROM fence_state AS s
JOIN fence ON fence.fence_id = s.state_id
WHERE s.home_first IS NOT NULL;

-- The record keys that belong to the sample and that sampling, cut short, never came to.
CREATE TABLE unlooked_key (
	state_id INTEGER PRIMARY KEY REFERENCES fence_state,
	topic_id INTEGER NOT NULL REFERENCES topic,
	hash     INTEGER NOT NULL,
	key      BLOB NOT NULL
) STRICT;

-- What the contract says of each record of the sampled keys, from the history alone: in the order of their times,
-- offsets breaking ties.
CREATE TABLE verdict_count (
	run_id   INTEGER NOT NULL REFERENCES run,
	pipeline TEXT NOT NULL,
	verdict  TEXT NOT NULL,
	records  INTEGER NOT NULL,
	PRIMARY KEY (run_id, pipeline, verdict)
) STRICT, WITHOUT ROWID;

-- The index, version 3: keys that cannot be told from one another, and topics that hold the same keys in other encodings.

-- Redis keys that the scan showed under the template and that no record key gives: of redis_keys.
ALTER TABLE topic ADD COLUMN redis_keys_unread INTEGER;

-- Sampled keys that share their Redis key with another record key of the history: equal behind the prefix that names
-- the schema, which the Redis key does not have. One fence stands for both. Derived by the fold, as fence_state is.
CREATE TABLE shared_key (
	state_id INTEGER PRIMARY KEY,
	topic_id INTEGER NOT NULL REFERENCES topic
) STRICT;

-- What two topics that are declared co-partitioned hold of the same keys, where they were compared: keys of the source
-- topic, the smallest hashes first, with a place in the sample of the other.
CREATE TABLE topic_encoding (
	topic_id     INTEGER NOT NULL REFERENCES topic,     -- the source
	other_id     INTEGER NOT NULL REFERENCES topic,
	keys         INTEGER NOT NULL,              -- of the source, compared as they are
	other_keys   INTEGER NOT NULL,              -- of the other's sample
	identical    INTEGER NOT NULL,              -- of keys, those that the other holds as the same bytes
	format       TEXT,                          -- key formats of the source and of the other under which most keys
	other_format TEXT,                          -- are the same; NULL: no pair explains enough of them
	compared     INTEGER,                       -- keys compared under that pair
	same         INTEGER,                       -- of those, the keys that the other holds
	apart        INTEGER,                       -- of those, the ones whose newest records lie in different partitions;
	                                            -- NULL: the counts differ, or one is not known
	text         INTEGER,                       -- 1: where a format is raw, the keys are UTF-8
	prefix       BLOB,                          -- where a format has one, that of the first of those keys
	other_prefix BLOB,
	samples      TEXT,                          -- JSON: a few of those keys, in hex, in both encodings
	PRIMARY KEY (topic_id, other_id)
) STRICT, WITHOUT ROWID;

-- The index, version 3: keys that cannot be told from one another, and topics that hold the same keys in other encodings.

-- Redis keys that the scan showed under the template and that no record key gives: of redis_keys.
ALTER TABLE topic ADD COLUMN redis_keys_unread INTEGER;

-- What of a record key is the key of its fence: whole, windowed, session (sql/keypart.h). NULL: whole.
ALTER TABLE pipeline ADD COLUMN key_part TEXT;

-- Sampled keys that share their Redis key with another record key of the history: equal behind the prefix that names
-- the schema, which the Redis key does not have. One fence stands for both. Derived by the fold, as fence_state is.
CREATE TABLE shared_key (
	state_id INTEGER PRIMARY KEY,
	topic_id INTEGER NOT NULL REFERENCES topic
) STRICT;

-- A topic and one declared co-partitioned with it, where sampled keys of the one that has fewer are not in the other as
-- the same bytes: under which key formats (sql/keyformat.h) they are. Derived like the fold.
CREATE TABLE topic_encoding (
	topic_id     INTEGER NOT NULL REFERENCES topic,     -- the source
	other_id     INTEGER NOT NULL REFERENCES topic,
	keys         INTEGER NOT NULL,              -- compared as they are: of the topic that has fewer, those with a
	                                            -- place in the sample of the other
	identical    INTEGER NOT NULL,              -- of those, the ones that the other holds as the same bytes
	format       TEXT,                          -- of the source, and of the other: the pair under which most keys are
	other_format TEXT,                          -- the same; NULL: no pair explains enough of them
	compared     INTEGER,                       -- keys compared under the pair: of those that are not identical
	same         INTEGER,                       -- of those, the ones that the other holds
	apart        INTEGER,                       -- of those, the ones whose newest records lie in different partitions;
	                                            -- NULL: the partition counts differ
	words        TEXT,                          -- what keys of each topic are
	other_words  TEXT,
	serializer   TEXT,                          -- who writes such keys
	other_serializer TEXT,
	samples      TEXT,                          -- JSON: a few of the same keys, in hex, in both encodings
	PRIMARY KEY (topic_id, other_id)
) STRICT, WITHOUT ROWID;

-- One row for each pair of topics whose keys are the same under different encodings.
CREATE VIEW encoding_break (run_id, pipeline_id, pipeline, topic, other, keys, identical, compared, same, apart, format, other_format,
	samples, detail, remedy) AS
SELECT source.run_id, source.pipeline_id, pipeline.name, source.topic, other.topic, e.keys, e.identical, e.compared, e.same, e.apart,
	e.format, e.other_format, e.samples,
	printf('%s and %s hold the same %,d keys under different encodings, %s in %s and %s in %s, so that %s.',
		source.topic, other.topic, e.same, e.words, source.topic, e.other_words, other.topic,
		CASE
		WHEN e.apart IS NULL THEN 'joins find none of them'
		WHEN e.apart = 0 THEN 'joins find none of them, though they lie in the same partitions'
		ELSE printf('%,d of them lie in different partitions', e.apart)
		END),
	printf('Write the keys of %s and %s with the same serializer: %s or %s, in both. Records that are there keep their '
		|| 'keys: write one of the topics anew before anything is joined.',
		source.topic, other.topic, e.serializer, e.other_serializer)
FROM topic_encoding AS e
JOIN topic AS source USING (topic_id)
JOIN topic AS other ON other.topic_id = e.other_id
JOIN pipeline ON pipeline.pipeline_id = source.pipeline_id
WHERE e.format IS NOT NULL;

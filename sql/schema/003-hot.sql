-- The index, version 3: keys with a large share of a partition's records.

-- Thousandths of a partition's records, and of a pipeline's for a slot; NULL: not judged.
ALTER TABLE pipeline ADD COLUMN hot_share INTEGER;

CREATE TABLE hot_key (
	topic_id  INTEGER NOT NULL REFERENCES topic,
	partition INTEGER NOT NULL,
	hash      INTEGER NOT NULL,
	key       BLOB NOT NULL,
	records   INTEGER NOT NULL,                 -- committed ones in the partition: exact
	PRIMARY KEY (topic_id, partition, hash, key)
) STRICT, WITHOUT ROWID;

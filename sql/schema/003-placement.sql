-- The index, version 3: how a pipeline's producers place keys, and what the fold sees of records that stand elsewhere.

-- See sql/placer.h. What "home" means for the topics of the pipeline.
ALTER TABLE pipeline ADD COLUMN partitioner TEXT NOT NULL DEFAULT 'murmur2';

-- placement.legal knows 3 besides: at home under an earlier count alone, by a producer that should have known the
-- present one. A key that has such records in a partition counts there alone.

ALTER TABLE off_home_key ADD COLUMN stale INTEGER NOT NULL DEFAULT 0; -- 1: placement.legal is 3

-- Records that have no home: their keys are too short for the part of them that is hashed, or no UTF-8 where text is.
ALTER TABLE partition_state ADD COLUMN homeless INTEGER NOT NULL DEFAULT 0;
-- Records in a partition that is legal for their keys under no count, stale ones left out.
ALTER TABLE partition_state ADD COLUMN off_home INTEGER NOT NULL DEFAULT 0;
ALTER TABLE partition_state ADD COLUMN off_home_first INTEGER;    -- offsets and times of the first and the last of them
ALTER TABLE partition_state ADD COLUMN off_home_first_ms INTEGER;
ALTER TABLE partition_state ADD COLUMN off_home_last INTEGER;
ALTER TABLE partition_state ADD COLUMN off_home_last_ms INTEGER;
ALTER TABLE partition_state ADD COLUMN legal_between INTEGER NOT NULL DEFAULT 0; -- other records with a key between those two

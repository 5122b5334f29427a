INSERT INTO partitions_before (pipeline_id, ordinal, partitions) VALUES (?, ?, ?)

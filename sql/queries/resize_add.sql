INSERT INTO topic_resize (topic_id, from_count, to_count, source, begin_ms, begin_offset, begin_partition, begin_late,
	end_ms, keys, kept, kept_expected, rebased, to_rebase, waiting, stale_keys, stale_records, proof_keys,
	proof_from, proof_alone)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?10 * ?12 / 1.0 / ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)

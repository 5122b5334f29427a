INSERT INTO cause (topic_id, ordinal, kind, confidence, identity, finding_id, classes, members, sign, remedy,
	tested_hypotheses, tested_keys, needed_keys, exact, keys, records, share, differs, pattern, density, over,
	first_partition, first_offset, first_ms, last_partition, last_offset, last_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24,
	?25, ?26, ?27)

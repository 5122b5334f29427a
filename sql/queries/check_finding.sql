INSERT INTO finding (run_id, name, pipeline, ordinal, id, severity, topic, partition, offset, key, redis_key, stream,
	grp, consumer, entry, detail,
	evidence, remedy)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)

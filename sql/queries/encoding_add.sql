INSERT INTO topic_encoding (topic_id, other_id, keys, identical, format, other_format, words, other_words, serializer,
	other_serializer, compared, same, apart, samples)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)

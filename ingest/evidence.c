/* evidence: records as JSON. */
#include "ingest/evidence.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "sql/mem.h"

static json_t *hex(const void *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *at = bytes;
	char *text = xalloc(2 * size + 1);
	json_t *string;

	for (size_t i = 0; i < size; i++) {
		text[2 * i] = digits[at[i] >> 4];
		text[2 * i + 1] = digits[at[i] & 15];
	}
	string = json_string(text);
	free(text);
	return string;
}

static json_t *text_or_null(const void *bytes, size_t size)
{
	json_t *string = json_stringn(bytes, size);

	return string ? string : json_null();
}

static json_t *record_json(const struct record *record)
{
	json_t *object = json_object();
	char hash[17];

	if (!record) {
		json_decref(object);
		return json_null();
	}
	snprintf(hash, sizeof(hash), "%016" PRIx64, record->value_hash);
	json_object_set_new(object, "offset", json_integer(record->offset));
	json_object_set_new(object, "timestamp_ms", json_integer(record->timestamp_ms));
	json_object_set_new(object, "key",
			    record->key_size < 0 ? json_null() : text_or_null(record->key, (size_t)record->key_size));
	json_object_set_new(object, "key_hex",
			    record->key_size < 0 ? json_null() : hex(record->key, (size_t)record->key_size));
	json_object_set_new(object, "value_size",
			    record->value_size < 0 ? json_null() : json_integer(record->value_size));
	json_object_set_new(object, "value_hash", record->value_size < 0 ? json_null() : json_string(hash));
	return object;
}

static char *dump(json_t *object)
{
	char *dumped = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
	char *text = xstrdup(dumped);

	free(dumped);
	json_decref(object);
	return text;
}

char *evidence_differs(const struct record *indexed, const struct record *read)
{
	json_t *object = json_object();

	json_object_set_new(object, "indexed", record_json(indexed));
	json_object_set_new(object, "read", record_json(read));
	return dump(object);
}

char *evidence_fell(int64_t indexed_end, int64_t end, const struct record *lost)
{
	json_t *object = json_object();

	json_object_set_new(object, "indexed_end", json_integer(indexed_end));
	json_object_set_new(object, "end", json_integer(end));
	json_object_set_new(object, "indexed", record_json(lost));
	return dump(object);
}

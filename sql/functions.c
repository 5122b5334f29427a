/* The pure functions of the stage, as SQL functions. */
#include "sql/functions.h"

#ifdef FENCEPOST_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#endif

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sql/entry.h"
#include "sql/keyformat.h"
#include "sql/keyhash.h"
#include "sql/keytext.h"
#include "sql/partitioner.h"
#include "sql/placer.h"
#include "sql/slot.h"
#include "sql/verdict.h"

struct key {
	const void *bytes; /* may be NULL where len is 0 */
	size_t len;
};

static void fail(sqlite3_context *context, const char *function, const char *claim)
{
	char *text = sqlite3_mprintf("%s: %s", function, claim);

	if (!text) {
		sqlite3_result_error_nomem(context);
		return;
	}
	sqlite3_result_error(context, text, -1);
	sqlite3_free(text);
}

static const char *name_of(sqlite3_context *context)
{
	return sqlite3_user_data(context);
}

/* 1 with *key set; 0 for NULL, -1 with the statement's error set: the result needs nothing more. */
static int read_key(sqlite3_context *context, sqlite3_value *value, struct key *key)
{
	switch (sqlite3_value_type(value)) {
	case SQLITE_NULL: return 0;
	case SQLITE_TEXT: key->bytes = sqlite3_value_text(value); break;
	case SQLITE_BLOB: key->bytes = sqlite3_value_blob(value); break;
	default: fail(context, name_of(context), "the key must be a blob or text"); return -1;
	}
	key->len = (size_t)sqlite3_value_bytes(value);
	if (key->len && !key->bytes) {
		sqlite3_result_error_nomem(context);
		return -1;
	}
	return 1;
}

/* An integer of [least, most]; else as read_key. */
static int read_integer(sqlite3_context *context, sqlite3_value *value, int64_t least, int64_t most, int64_t *number)
{
	if (sqlite3_value_type(value) == SQLITE_NULL)
		return 0;
	if (sqlite3_value_type(value) != SQLITE_INTEGER) {
		fail(context, name_of(context), "a number must be an integer");
		return -1;
	}
	*number = sqlite3_value_int64(value);
	if (*number >= least && *number <= most)
		return 1;
	fail(context, name_of(context),
	     least == 1 ? "a partition count must be at least 1 and fit 32 bits" : "a partition must fit 32 bits");
	return -1;
}

static int read_count(sqlite3_context *context, sqlite3_value *value, int32_t *n)
{
	int64_t number = 0;
	int got = read_integer(context, value, 1, INT32_MAX, &number);

	*n = (int32_t)number;
	return got;
}

static void sql_murmur2(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct key key;

	(void)argc;
	if (read_key(context, argv[0], &key) > 0)
		sqlite3_result_int(context, (int32_t)murmur2(key.bytes, key.len));
}

static void sql_home_partition(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct key key;
	int32_t n;

	(void)argc;
	if (read_key(context, argv[0], &key) > 0 && read_count(context, argv[1], &n) > 0)
		sqlite3_result_int(context, home_partition(key.bytes, key.len, n));
}

static void unknown_placer(sqlite3_context *context)
{
	fail(context, name_of(context), "no such partitioner; there are " PLACER_WORDS);
}

static void sql_partition_by(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *name = (const char *)sqlite3_value_text(argv[0]);
	struct placer placer;
	struct key key;
	int32_t n, partition;

	(void)argc;
	if (!name)
		return;
	if (!placer_parse(name, &placer)) {
		unknown_placer(context);
		return;
	}
	if (read_key(context, argv[1], &key) <= 0 || read_count(context, argv[2], &n) <= 0)
		return;
	partition = placer_partition(&placer, key.bytes, key.len, n);
	if (partition >= 0)
		sqlite3_result_int(context, partition);
}

/*
 * What Redis holds: text and blobs as they are, integers in decimal, NULL as absent. 0, or -1 with the statement's
 * error set.
 */
static int read_stored(sqlite3_context *context, sqlite3_value *value, struct stored *stored)
{
	switch (sqlite3_value_type(value)) {
	case SQLITE_NULL: *stored = (struct stored){ NULL, 0 }; return 0;
	case SQLITE_BLOB: stored->data = sqlite3_value_blob(value); break;
	case SQLITE_FLOAT:
		fail(context, name_of(context), "a stored number must be an integer or the stored text");
		return -1;
	default: stored->data = (const char *)sqlite3_value_text(value);
	}
	stored->len = (size_t)sqlite3_value_bytes(value);
	if (!stored->data && !stored->len)
		stored->data = "";
	if (stored->data)
		return 0;
	sqlite3_result_error_nomem(context);
	return -1;
}

/* 1 with *in set; 0 where something is NULL, -1 with the statement's error set. */
static int read_incoming(sqlite3_context *context, sqlite3_value **argv, struct incoming *in)
{
	int64_t home = 0, partition = 0;
	int got = read_integer(context, argv[0], INT32_MIN, INT32_MAX, &home);

	if (got > 0)
		got = read_integer(context, argv[4], INT32_MIN, INT32_MAX, &partition);
	if (got > 0)
		got = read_integer(context, argv[5], INT64_MIN, INT64_MAX, &in->offset);
	if (got > 0)
		got = read_integer(context, argv[6], INT64_MIN, INT64_MAX, &in->epoch);
	in->home = (int32_t)home;
	in->partition = (int32_t)partition;
	return got;
}

static void sql_fence_verdict(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct stored_fence stored = { 0 };
	struct incoming in;
	enum verdict verdict;

	(void)argc;
	if (read_incoming(context, argv, &in) <= 0)
		return;
	if (read_stored(context, argv[1], &stored.epoch) < 0 || read_stored(context, argv[2], &stored.partition) < 0 ||
	    read_stored(context, argv[3], &stored.offset) < 0)
		return;
	if (script_verdict(&in, &stored, &verdict) > 0)
		sqlite3_result_text(context, verdict_name(verdict), -1, SQLITE_STATIC);
}

static void sql_redis_slot(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct key key;

	(void)argc;
	if (read_key(context, argv[0], &key) > 0)
		sqlite3_result_int(context, redis_slot(key.bytes, key.len));
}

static void sql_xxh3(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct key key;

	(void)argc;
	if (read_key(context, argv[0], &key) > 0)
		sqlite3_result_int64(context, key_hash(key.bytes, key.len));
}

/* The result is what write makes of the key, in room bytes. */
static void result_written(sqlite3_context *context, const struct key *key, size_t room,
			   size_t (*write)(const void *, size_t, char *))
{
	char *text = sqlite3_malloc64(room);

	if (!text) {
		sqlite3_result_error_nomem(context);
		return;
	}
	sqlite3_result_text64(context, text, write(key->bytes, key->len, text), sqlite3_free, SQLITE_UTF8);
}

static void sql_key_text(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct key key;

	(void)argc;
	if (read_key(context, argv[0], &key) > 0)
		result_written(context, &key, KEYTEXT_ROOM(key.len), keytext_write);
}

/* How a sentence names a key: before and its text form, or the words that stand for a key without bytes. */
static void result_named(sqlite3_context *context, const struct key *key, const char *before, const char *empty)
{
	size_t size = strlen(before);
	char *text = sqlite3_malloc64(size + KEYTEXT_ROOM(key->len));

	if (!text) {
		sqlite3_result_error_nomem(context);
		return;
	}
	memcpy(text, before, size);
	size += keytext_write(key->bytes, key->len, text + size);
	if (key->len)
		sqlite3_result_text64(context, text, size, SQLITE_TRANSIENT, SQLITE_UTF8);
	else
		sqlite3_result_text(context, empty, -1, SQLITE_STATIC);
	sqlite3_free(text);
}

static void sql_the_key(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct key key;

	(void)argc;
	if (read_key(context, argv[0], &key) > 0)
		result_named(context, &key, "The key ", "The empty key");
}

static void sql_of_key(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct key key;

	(void)argc;
	if (read_key(context, argv[0], &key) > 0)
		result_named(context, &key, "of key ", "of the empty key");
}

static void sql_key_hex(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct key key;

	(void)argc;
	if (read_key(context, argv[0], &key) > 0)
		result_written(context, &key, KEYHEX_ROOM(key.len), keyhex_write);
}

static void sql_key_shell(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct key key;

	(void)argc;
	if (read_key(context, argv[0], &key) > 0)
		result_written(context, &key, KEYSHELL_ROOM(key.len), keyshell_write);
}

static void sql_key_utf8(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct key key;

	(void)argc;
	if (read_key(context, argv[0], &key) <= 0 || !key_is_utf8(key.bytes, key.len))
		return;
	sqlite3_result_text64(context, key.len ? key.bytes : "", key.len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void sql_key_parse(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct key text;
	size_t len;
	void *bytes;

	(void)argc;
	if (read_key(context, argv[0], &text) <= 0)
		return;
	bytes = sqlite3_malloc64(text.len + 1);
	if (!bytes) {
		sqlite3_result_error_nomem(context);
	} else if (keytext_read(text.bytes, text.len, bytes, &len) < 0) {
		char claim[64];

		snprintf(claim, sizeof(claim), "no escape at byte %zu of the text", len);
		fail(context, name_of(context), claim);
		sqlite3_free(bytes);
	} else {
		sqlite3_result_blob64(context, bytes, len, sqlite3_free);
	}
}

static void sql_key_decode(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *word = (const char *)sqlite3_value_text(argv[0]);
	struct buffer text = { 0 };
	enum key_format format;
	struct key key;

	(void)argc;
	if (!word || read_key(context, argv[1], &key) <= 0)
		return;
	if (!key_format_by_word(word, &format))
		fail(context, name_of(context), "no such key format");
	else if (keyformat_render(format, key.len ? key.bytes : "", key.len, &text))
		sqlite3_result_blob64(context, text.size ? (const void *)text.data : "", text.size, SQLITE_TRANSIENT);
	buffer_release(&text);
}

static void sql_key_part(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *word = (const char *)sqlite3_value_text(argv[0]);
	struct key_bytes whole, bytes;
	enum keypart part;
	struct key key;

	(void)argc;
	if (!word || read_key(context, argv[1], &key) <= 0)
		return;
	whole = (struct key_bytes){ key.len ? key.bytes : (const void *)"", key.len };
	if (!keypart_by_word(word, strlen(word), &part))
		fail(context, name_of(context), "no such part of a key");
	else if (keypart_of(part, whole, &bytes))
		sqlite3_result_blob64(context, bytes.bytes, bytes.len, SQLITE_TRANSIENT);
}

/* An entry id of the index; else as read_key. */
static int read_entry(sqlite3_context *context, sqlite3_value *value, const uint8_t **id)
{
	if (sqlite3_value_type(value) == SQLITE_NULL)
		return 0;
	if (sqlite3_value_type(value) != SQLITE_BLOB || sqlite3_value_bytes(value) != ENTRY_SIZE) {
		fail(context, name_of(context), "an entry id is a blob of 16 bytes");
		return -1;
	}
	*id = sqlite3_value_blob(value);
	return 1;
}

static void sql_entry_text(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	char text[ENTRY_ROOM];
	const uint8_t *id;

	(void)argc;
	if (read_entry(context, argv[0], &id) > 0) {
		entry_write(id, text);
		sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
	}
}

static void sql_entry_ms(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const uint8_t *id;

	(void)argc;
	if (read_entry(context, argv[0], &id) > 0)
		sqlite3_result_int64(context, entry_ms(id));
}

static void sql_entry_id(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	uint8_t id[ENTRY_SIZE];
	struct key text;

	(void)argc;
	if (read_key(context, argv[0], &text) <= 0)
		return;
	if (entry_read(text.bytes, text.len, id))
		sqlite3_result_blob(context, id, ENTRY_SIZE, SQLITE_TRANSIENT);
	else
		fail(context, name_of(context), "an entry id is text like 1700000000000-0");
}

int functions_register(sqlite3 *db)
{
	static const struct {
		const char *name;
		int arguments;
		void (*function)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = {
		{ "murmur2", 1, sql_murmur2 },           { "home_partition", 2, sql_home_partition },
		{ "partition_by", 3, sql_partition_by }, { "fence_verdict", 7, sql_fence_verdict },
		{ "redis_slot", 1, sql_redis_slot },     { "xxh3", 1, sql_xxh3 },
		{ "key_text", 1, sql_key_text },         { "key_hex", 1, sql_key_hex },
		{ "key_utf8", 1, sql_key_utf8 },         { "key_parse", 1, sql_key_parse },
		{ "entry_text", 1, sql_entry_text },     { "entry_ms", 1, sql_entry_ms },
		{ "key_shell", 1, sql_key_shell },       { "entry_id", 1, sql_entry_id },         { "the_key", 1, sql_the_key },
		{ "of_key", 1, sql_of_key },             { "key_decode", 2, sql_key_decode },
		{ "key_part", 2, sql_key_part },
	};
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	int rc = SQLITE_OK;

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions) && rc == SQLITE_OK; i++)
		rc = sqlite3_create_function_v2(db, functions[i].name, functions[i].arguments, flags,
						(void *)functions[i].name, functions[i].function, NULL, NULL, NULL);
	return rc;
}

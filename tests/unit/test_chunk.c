/*
 * The chunk codec: what goes in comes out, the format does not change (golden files), and every damage is refused in words.
 * The golden files are made once per version of the format, by `test_chunk write FOLDER`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "sql/chunk.h"
#include "sql/chunk_format.h"
#include "sql/mem.h"
#include "sql/run.h"

enum { EVERYTHING = CHUNK_ALWAYS | CHUNK_NUMBER | CHUNK_SOURCE };

static void add(struct chunk_builder *b, struct record record)
{
	struct trouble t = { "" };

	if (chunk_builder_add(b, &record, &t) < 0)
		fail_msg("%s", t.text);
}

static struct chunk_blob seal(struct chunk_builder *b)
{
	struct chunk_encoder *encoder = chunk_encoder_new(1);
	struct chunk_blob blob = { .data = NULL };

	chunk_builder_seal(b, encoder, &blob);
	chunk_encoder_free(encoder);
	return blob;
}

/* --- two chunks that are also golden files -------------------------------------------------------------------------- */

/* One record: nothing in it is worth compressing, so its bytes are the same with every zstd. */
static struct chunk_blob make_one(void)
{
	struct chunk_builder *b = chunk_builder_new(CHUNK_ALWAYS);
	struct chunk_blob blob;

	add(b, (struct record){ .offset = 1000, .timestamp_ms = 1700000000123, .key = "user-1", .key_size = 6, .value_size = 300,
				.value_hash = 0x0123456789abcdef });
	blob = seal(b);
	chunk_builder_free(b);
	return blob;
}

/* Every column, every flag, every width. */
static struct record many_record(int64_t i, char *key)
{
	struct record r = {
		.offset = 5 + i + i / 100 * 1000, .timestamp_ms = 1700000000000 + 37 * (i % 50) - i, .key = key,
		.value_size = i % 7 ? 100 + i : -1, .value_hash = i % 7 ? (uint64_t)i * 0x9e3779b97f4a7c15 : 0,
		.has_number = i % 3 == 0, .number = i * i * i * (i % 2 ? -1 : 1),
	};

	r.key_size = i % 11 == 5 ? -1 : snprintf(key, 64, "%.*s%lld", (int)(i % 20), "customer-abcdefghijklmno", (long long)i);
	if (i % 5 == 0) {
		r.source_topic = i % 2 ? "orders" : "payments";
		r.source_topic_size = strlen(r.source_topic);
		r.source_partition = (int32_t)(i % 13);
		r.source_offset = i * 1000;
	}
	return r;
}

enum { MANY = 2000 };

static struct chunk_blob make_many(void)
{
	struct chunk_builder *b = chunk_builder_new(EVERYTHING);
	struct chunk_blob blob;
	char key[64];

	for (int64_t i = 0; i < MANY; i++)
		add(b, many_record(i, key));
	blob = seal(b);
	chunk_builder_free(b);
	return blob;
}

static void check_optional(const struct chunk_view *v, size_t i, const struct record *r)
{
	assert_int_equal(!!(v->flags[i] & RECORD_NUMBER), r->has_number);
	if (r->has_number)
		assert_int_equal(v->number[i], r->number);
	assert_int_equal(!!(v->flags[i] & RECORD_SOURCE), r->source_topic != NULL);
	if (!r->source_topic)
		return;
	assert_int_equal(v->source_topic_at[i + 1] - v->source_topic_at[i], r->source_topic_size);
	assert_memory_equal(v->source_topic_bytes + v->source_topic_at[i], r->source_topic, r->source_topic_size);
	assert_int_equal(v->source_partition[i], r->source_partition);
	assert_int_equal(v->source_offset[i], r->source_offset);
}

static void check_record(const struct chunk_view *v, size_t i, const struct record *r)
{
	assert_int_equal(v->offset[i], r->offset);
	assert_int_equal(v->timestamp_ms[i], r->timestamp_ms);
	assert_int_equal(!!(v->flags[i] & RECORD_NULL_KEY), r->key_size < 0);
	assert_int_equal(v->key_at[i + 1] - v->key_at[i], r->key_size < 0 ? 0 : r->key_size);
	if (r->key_size > 0)
		assert_memory_equal(v->key_bytes + v->key_at[i], r->key, (size_t)r->key_size);
	assert_int_equal(v->value_size[i], r->value_size);
	assert_int_equal(!!(v->flags[i] & RECORD_TOMBSTONE), r->value_size < 0);
	assert_true(v->value_hash[i] == r->value_hash);
}

static void check_many(const void *blob, size_t size)
{
	struct chunk_reader *reader = chunk_reader_new();
	struct trouble t = { "" };
	struct chunk_view v;
	char key[64];

	if (chunk_decode(reader, blob, size, EVERYTHING, &v, &t) < 0)
		fail_msg("%s", t.text);
	assert_int_equal(v.records, MANY);
	for (size_t i = 0; i < MANY; i++) {
		struct record r = many_record((int64_t)i, key);

		check_record(&v, i, &r);
		check_optional(&v, i, &r);
	}
	chunk_reader_free(reader);
}

static void *read_golden(const char *name, size_t *size)
{
	char *path = xprintf("tests/unit/golden/%s.chunk", name);
	FILE *file = fopen(path, "rb");
	char *bytes = xalloc(1 << 20);

	if (!file)
		fail_msg("%s cannot be opened; tests run from the top folder", path);
	*size = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	free(path);
	return bytes;
}

static void test_golden_one(void **state)
{
	struct chunk_blob blob = make_one();
	size_t size;
	void *golden = read_golden("one", &size);

	(void)state;
	assert_int_equal(blob.size, size);
	assert_memory_equal(blob.data, golden, size);
	chunk_blob_release(&blob);
	free(golden);
}

static void test_golden_many(void **state)
{
	struct chunk_blob blob = make_many();
	size_t size;
	void *golden = read_golden("many", &size);

	(void)state;
	check_many(golden, size);
	check_many(blob.data, blob.size);
	chunk_blob_release(&blob);
	free(golden);
}

/* --- edges ---------------------------------------------------------------------------------------------------------- */

static void test_edges(void **state)
{
	size_t long_size = 200000;
	char *long_key = xalloc(long_size);
	const struct record records[] = {
		{ .offset = 0, .timestamp_ms = -1, .key = "", .key_size = 0, .value_size = 0, .value_hash = 1 },
		{ .offset = 1, .timestamp_ms = INT64_MAX, .key_size = -1, .value_size = -1 },
		{ .offset = 2, .timestamp_ms = INT64_MIN, .key = "\0\xff\n", .key_size = 3, .value_size = INT64_MAX - 1, .value_hash = UINT64_MAX },
		{ .offset = INT64_MAX - 1, .timestamp_ms = 0, .key = long_key, .key_size = (int32_t)long_size, .value_size = 5 },
	};
	size_t count = sizeof(records) / sizeof(records[0]);
	struct chunk_builder *b = chunk_builder_new(CHUNK_ALWAYS);
	struct chunk_reader *reader = chunk_reader_new();
	struct chunk_blob blob;
	struct chunk_span span;
	struct chunk_view v;

	(void)state;
	span = chunk_builder_span(b);
	assert_int_equal(span.records, 0);
	assert_true(span.first_offset == UNKNOWN && span.min_ms == UNKNOWN);
	memset(long_key, 0xee, long_size);
	for (size_t i = 0; i < count; i++)
		add(b, records[i]);
	span = chunk_builder_span(b);
	assert_int_equal(span.records, count);
	assert_true(span.first_offset == 0 && span.end_offset == INT64_MAX && span.min_ms == INT64_MIN && span.max_ms == INT64_MAX);
	blob = seal(b);
	assert_int_equal(chunk_builder_span(b).records, 0);
	assert_int_equal(chunk_decode(reader, blob.data, blob.size, EVERYTHING, &v, NULL), 0);
	for (size_t i = 0; i < count; i++)
		check_record(&v, i, &records[i]);
	assert_null(v.number);
	assert_null(v.source_offset);
	chunk_reader_free(reader);
	chunk_blob_release(&blob);
	chunk_builder_free(b);
	free(long_key);
}

static void test_columns(void **state)
{
	struct chunk_reader *reader = chunk_reader_new();
	struct chunk_blob blob = make_many();
	struct chunk_view v;

	(void)state;
	assert_int_equal(chunk_decode(reader, blob.data, blob.size, CHUNK_OFFSET, &v, NULL), 0);
	assert_non_null(v.offset);
	assert_true(!v.timestamp_ms && !v.key_at && !v.key_bytes && !v.value_size && !v.value_hash && !v.flags && !v.number &&
		    !v.source_offset && !v.source_partition && !v.source_topic_at);
	assert_int_equal(chunk_decode(reader, blob.data, blob.size, 0, &v, NULL), 0);
	assert_true(v.records == MANY && !v.offset);
	chunk_blob_release(&blob);
	chunk_reader_free(reader);
}

static void test_full(void **state)
{
	struct chunk_builder *b = chunk_builder_new(CHUNK_ALWAYS);
	char *key = xalloc(1 << 20);
	struct chunk_blob blob;
	struct trouble t;

	(void)state;
	for (int64_t i = 0; i < CHUNK_RECORDS_MAX; i++) {
		assert_false(chunk_builder_full(b));
		add(b, (struct record){ .offset = i, .key_size = -1, .value_size = 1 });
	}
	assert_true(chunk_builder_full(b));
	assert_int_equal(chunk_builder_add(b, &(struct record){ .offset = 99999, .key_size = -1 }, &t), -1);
	assert_string_equal(t.text, "record at 99999: the chunk is full");
	blob = seal(b);
	for (int64_t i = 0; i < 16; i++) {
		assert_false(chunk_builder_full(b));
		add(b, (struct record){ .offset = i, .key = key, .key_size = 1 << 20, .value_size = 1 });
	}
	assert_true(chunk_builder_full(b));
	assert_true(chunk_builder_bytes(b) >= 16 << 20);
	chunk_builder_shrink(b); /* not while it has records */
	assert_true(chunk_builder_full(b));
	chunk_blob_release(&blob);
	blob = seal(b);
	chunk_builder_shrink(b);
	assert_true(chunk_builder_bytes(b) < 10000);
	chunk_blob_release(&blob);
	chunk_builder_free(b);
	free(key);
}

static void test_wrong_records(void **state)
{
	struct chunk_builder *b = chunk_builder_new(CHUNK_ALWAYS);
	struct trouble t;

	(void)state;
	assert_int_equal(chunk_builder_add(b, &(struct record){ .offset = -1, .key_size = -1 }, &t), -1);
	assert_string_equal(t.text, "record at -1: no offset");
	add(b, (struct record){ .offset = 7, .key_size = -1, .value_size = 1 });
	assert_int_equal(chunk_builder_add(b, &(struct record){ .offset = 7, .key_size = -1 }, &t), -1);
	assert_string_equal(t.text, "record at 7 comes after 7");
	assert_int_equal(chunk_builder_add(b, &(struct record){ .offset = 8, .key_size = CHUNK_KEY_MAX + 1 }, &t), -1);
	assert_string_equal(t.text, "record at 8: a key of 251658241 bytes, more than 251658240");
	assert_int_equal(chunk_builder_add(b, &(struct record){ .offset = 8, .key_size = -2 }, &t), -1);
	assert_int_equal(chunk_builder_add(b, &(struct record){ .offset = 8, .key_size = -1, .value_size = -2 }, &t), -1);
	assert_string_equal(t.text, "record at 8: a value of -2 bytes");
	assert_int_equal(chunk_builder_span(b).records, 1);
	chunk_builder_free(b);
}

/* A builder that was used gives the same bytes as a new one. */
static void test_reuse(void **state)
{
	struct chunk_blob first = make_many(), second = make_many(), third;
	struct chunk_builder *b = chunk_builder_new(EVERYTHING);
	char key[64];

	(void)state;
	for (int64_t i = 0; i < MANY; i++)
		add(b, (struct record){ .offset = i * INT32_MAX, .timestamp_ms = i * i * i * 77777, .key = "wide", .key_size = 4 });
	third = seal(b);
	chunk_blob_release(&third);
	for (int64_t i = 0; i < MANY; i++)
		add(b, many_record(i, key));
	third = seal(b);
	assert_int_equal(first.size, second.size);
	assert_int_equal(first.size, third.size);
	assert_memory_equal(first.data, second.data, first.size);
	assert_memory_equal(first.data, third.data, first.size);
	chunk_blob_release(&first);
	chunk_blob_release(&second);
	chunk_blob_release(&third);
	chunk_builder_free(b);
}

/* --- damage --------------------------------------------------------------------------------------------------------- */

/* Makes the checksum right again, so that what lies behind it is tested. */
static void forge(struct chunk_blob *blob)
{
	uint64_t checksum = XXH3_64bits(blob->data, blob->size - CHUNK_CHECKSUM_SIZE);

	memcpy(blob->data + blob->size - CHUNK_CHECKSUM_SIZE, &checksum, sizeof(checksum));
}

enum place { HEADER, ENTRY, COLUMN };

/* Entry i: the field of the directory's i-th entry; column i: byte at of the i-th column's bytes. */
static uint8_t *place_at(struct chunk_blob *blob, enum place place, size_t i, size_t at)
{
	struct chunk_entry e;
	uint8_t *directory = blob->data + CHUNK_HEADER_SIZE, *bytes;
	uint16_t entries;

	memcpy(&entries, blob->data + 6, sizeof(entries));
	bytes = directory + entries * CHUNK_ENTRY_SIZE;
	if (place == HEADER)
		return blob->data + at;
	if (place == ENTRY)
		return directory + i * CHUNK_ENTRY_SIZE + at;
	for (size_t n = 0; n < i; n++) {
		memcpy(&e, directory + n * CHUNK_ENTRY_SIZE, sizeof(e));
		bytes += e.encoded;
	}
	return bytes + at;
}

/* Entries of the directory of make_many: id - 1. */
static const struct {
	enum place place;
	size_t column, at;
	uint32_t value;
	size_t size;
	const char *words;
} damages[] = {
	{ HEADER, 0, 0, 'x', 1, "not a chunk: wrong magic" },
	{ HEADER, 0, 4, 2, 2, "chunk version 2, this program reads 1" },
	{ HEADER, 0, 4, 0, 2, "chunk version 0, this program reads 1" },
	{ HEADER, 0, 6, 65535, 2, "truncated: the directory of 65535 columns does not fit in " },
	{ HEADER, 0, 6, 11, 2, "truncated: columns of " },
	{ HEADER, 0, 8, 0, 4, "0 records in a chunk of at most 16384" },
	{ HEADER, 0, 8, 16385, 4, "16385 records in a chunk of at most 16384" },
	{ HEADER, 0, 8, 1999, 4, "column offset: its size is not that of one element per record" },
	{ HEADER, 0, 20, 0x80000000, 4, "a first offset of -" },
	{ HEADER, 0, 20, 0x7fffffff, 4, "" },
	{ ENTRY, 0, 0, 0, 1, "column 0 comes after column 0" },
	{ ENTRY, 0, 0, 7, 1, "column 2 comes after column 7" },
	{ ENTRY, 1, 0, 1, 1, "column 1 comes after column 1" },
	{ ENTRY, 11, 0, 200, 1, "" }, /* source offset becomes an unknown id */
	{ ENTRY, 0, 1, 3, 1, "column offset: unknown codec" },
	{ ENTRY, 0, 1, 0, 1, "column offset: sizes of a raw column differ" },
	{ ENTRY, 0, 1, 1, 1, "column offset: a constant that is not one element" },
	{ ENTRY, 0, 2, 3, 1, "column offset: impossible width" },
	{ ENTRY, 0, 2, 0, 1, "column offset: impossible width" },
	{ ENTRY, 0, 2, 1, 1, "column offset: its size is not that of one element per record" },
	{ ENTRY, 0, 4, 1, 4, "truncated: columns of " },
	{ ENTRY, 0, 4, UINT32_MAX, 4, "truncated: columns of " },
	{ ENTRY, 0, 8, 4001, 4, "column offset: its size is not that of one element per record" },
	{ ENTRY, 3, 2, 2, 1, "column key bytes: impossible width" },
	{ ENTRY, 3, 1, 1, 1, "column key bytes: unknown codec" },
	{ ENTRY, 3, 8, UINT32_MAX, 4, "column key bytes: its size is not the sum of the sizes" },
	{ ENTRY, 3, 8, 1, 4, "column key bytes: its size is not the sum of the sizes" },
	{ COLUMN, 0, 0, 0, 4, "column offset: " },
	{ COLUMN, 1, 0, 0, 4, "column timestamp: " },
	{ COLUMN, 2, 0, 0, 4, "column key size: " },
	{ COLUMN, 3, 0, 0, 4, "column key bytes: " },
	{ COLUMN, 4, 0, 0, 4, "column value size: " },
	{ COLUMN, 5, 0, 99, 4, "" }, /* raw: every value is a hash */
	{ COLUMN, 6, 0, 0, 4, "column flags: " },
	{ COLUMN, 7, 0, 0, 4, "column number: " },
	{ COLUMN, 8, 0, 0, 4, "column source topic size: " },
	{ COLUMN, 9, 0, 0, 4, "column source topic bytes: " },
	{ COLUMN, 10, 0, 0, 4, "column source partition: " },
	{ COLUMN, 11, 0, 0, 4, "column source offset: " },
};

/* Whether a place that is changed is refused in these words; words of "" say nothing about the outcome. */
static void check_damage(struct chunk_reader *reader, size_t i)
{
	struct chunk_blob blob = make_many();
	struct trouble t = { "" };
	struct chunk_view v;
	int result;

	memcpy(place_at(&blob, damages[i].place, damages[i].column, damages[i].at), &damages[i].value, damages[i].size);
	if (damages[i].place != HEADER) {
		assert_int_equal(chunk_decode(reader, blob.data, blob.size, EVERYTHING, &v, &t), -1);
		assert_string_equal(t.text, "the checksum does not match");
	}
	forge(&blob);
	result = chunk_decode(reader, blob.data, blob.size, EVERYTHING, &v, &t);
	if (*damages[i].words && (result != -1 || strncmp(t.text, damages[i].words, strlen(damages[i].words))))
		fail_msg("damage %zu: \"%s\", not \"%s\"", i, t.text, damages[i].words);
	if (result < 0)
		assert_true(!v.records && !v.offset && !v.flags);
	chunk_blob_release(&blob);
}

static void test_damages(void **state)
{
	struct chunk_reader *reader = chunk_reader_new();

	(void)state;
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++)
		check_damage(reader, i);
	chunk_reader_free(reader);
}

/* Every length but the right one, and every single bit. */
static void test_accidents(void **state)
{
	struct chunk_reader *reader = chunk_reader_new();
	struct chunk_blob blob = make_one();
	struct chunk_view v;
	struct trouble t;

	(void)state;
	for (size_t size = 0; size < blob.size; size++)
		assert_int_equal(chunk_decode(reader, blob.data, size, EVERYTHING, &v, &t), -1);
	for (size_t bit = 0; bit < 8 * blob.size; bit++) {
		blob.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(chunk_decode(reader, blob.data, blob.size, EVERYTHING, &v, &t), -1);
		blob.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(chunk_decode(reader, blob.data, blob.size, EVERYTHING, &v, &t), 0);
	chunk_blob_release(&blob);
	chunk_reader_free(reader);
}

/* A column with an id of a later version is skipped, wherever it lies. */
static void test_unknown_column(void **state)
{
	struct chunk_blob one = make_one();
	struct chunk_blob blob = { .data = xalloc(one.size + 100), .size = one.size + CHUNK_ENTRY_SIZE + 5 };
	struct chunk_entry e = { .id = 99, .codec = 77, .width = 5, .encoded = 5, .decoded = UINT32_MAX };
	size_t before = CHUNK_HEADER_SIZE + 7 * CHUNK_ENTRY_SIZE, columns = one.size - before - CHUNK_CHECKSUM_SIZE;
	struct chunk_reader *reader = chunk_reader_new();
	struct trouble t = { "" };
	struct chunk_view v;

	(void)state;
	memcpy(blob.data, one.data, before);
	blob.data[6] = 8;
	memcpy(blob.data + before, &e, sizeof(e));
	memcpy(blob.data + before + sizeof(e), one.data + before, columns);
	forge(&blob);
	assert_int_equal(chunk_decode(reader, blob.data, blob.size, EVERYTHING, &v, &t), 0);
	assert_int_equal(v.offset[0], 1000);
	assert_int_equal(v.value_size[0], 300);
	assert_memory_equal(v.key_bytes, "user-1", 6);
	chunk_reader_free(reader);
	chunk_blob_release(&one);
	chunk_blob_release(&blob);
}

/* --- writing golden files ------------------------------------------------------------------------------------------- */

static void write_golden(const char *folder, const char *name, struct chunk_blob blob)
{
	char *path = xprintf("%s/%s.chunk", folder, name);
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(blob.data, 1, blob.size, file) != blob.size || fclose(file))
		abort();
	free(path);
	chunk_blob_release(&blob);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_one),    cmocka_unit_test(test_golden_many), cmocka_unit_test(test_edges),
		cmocka_unit_test(test_columns),	      cmocka_unit_test(test_full),	  cmocka_unit_test(test_wrong_records),
		cmocka_unit_test(test_reuse),	      cmocka_unit_test(test_damages),	  cmocka_unit_test(test_accidents),
		cmocka_unit_test(test_unknown_column),
	};

	if (argc == 3 && !strcmp(argv[1], "write")) {
		write_golden(argv[2], "one", make_one());
		write_golden(argv[2], "many", make_many());
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

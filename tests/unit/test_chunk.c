/*
 * The chunk codec: what goes in comes out, and the format does not change: the golden files are made once per version of the
 * format, by `test_chunk write FOLDER`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/chunk.h"
#include "sql/mem.h"
#include "sql/run.h"
#include "tests/unit/chunk_samples.h"

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

/* --- edges ------------------------------------------------------------------------------------------------------- */

static void test_edges(void **state)
{
	size_t long_size = 200000;
	char *long_key = xalloc(long_size);
	const struct record records[] = {
		{ .offset = 0, .timestamp_ms = -1, .key = "", .key_size = 0, .value_size = 0, .value_hash = 1 },
		{ .offset = 1, .timestamp_ms = INT64_MAX, .key_size = -1, .value_size = -1 },
		{ .offset = 2,
		  .timestamp_ms = INT64_MIN,
		  .key = "\0\xff\n",
		  .key_size = 3,
		  .value_size = INT64_MAX - 1,
		  .value_hash = UINT64_MAX },
		{ .offset = INT64_MAX - 1,
		  .timestamp_ms = 0,
		  .key = long_key,
		  .key_size = (int32_t)long_size,
		  .value_size = 5 },
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
	assert_true(span.first_offset == 0 && span.end_offset == INT64_MAX && span.min_ms == INT64_MIN &&
		    span.max_ms == INT64_MAX);
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
	assert_true(!v.timestamp_ms && !v.key_at && !v.key_bytes && !v.value_size && !v.value_hash && !v.flags &&
		    !v.number && !v.source_offset && !v.source_partition && !v.source_topic_at);
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
	assert_int_equal(chunk_builder_add(b, &(struct record){ .offset = 8, .key_size = -1, .value_size = -2 }, &t),
			 -1);
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
		add(b,
		    (struct record){
			    .offset = i * INT32_MAX, .timestamp_ms = i * i * i * 77777, .key = "wide", .key_size = 4 });
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

/* --- writing golden files ---------------------------------------------------------------------------------------- */

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
		cmocka_unit_test(test_golden_one), cmocka_unit_test(test_golden_many),
		cmocka_unit_test(test_edges),	   cmocka_unit_test(test_columns),
		cmocka_unit_test(test_full),	   cmocka_unit_test(test_wrong_records),
		cmocka_unit_test(test_reuse),
	};

	if (argc == 3 && !strcmp(argv[1], "write")) {
		write_golden(argv[2], "one", make_one());
		write_golden(argv[2], "many", make_many());
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

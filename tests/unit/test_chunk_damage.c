/* The chunk decoder: every damage is refused in words, and what a later version adds is skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <xxhash.h>

#include "sql/chunk.h"
#include "sql/chunk_format.h"
#include "sql/mem.h"
#include "tests/unit/chunk_samples.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_damages),
		cmocka_unit_test(test_accidents),
		cmocka_unit_test(test_unknown_column),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

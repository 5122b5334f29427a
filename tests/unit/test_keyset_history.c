/* The key set made from chunks of an index, against the records that went in. */
#include "ingest/keyset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sql/chunk.h"
#include "sql/db.h"
#include "sql/mem.h"
#include "sql_data.h"

enum { RECORDS = 40000, KEYS = 3000 };

struct world {
	sqlite3 *db;
	struct trouble t;
	atomic_int stop;
	struct run run;
};

static int open_world(void **state)
{
	struct world *w = xalloc(sizeof(*w));

	w->run.stop = &w->stop;
	if (sqlite3_open(":memory:", &w->db) != SQLITE_OK)
		return -1;
	for (const struct sql_file *f = sql_schema_files; f->name; f++)
		if (db_script(w->db, f->text, &w->t) < 0)
			return -1;
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;

	sqlite3_close(w->db);
	free(w);
	return 0;
}

/* Key of record i: a number of at most KEYS, NULL for some records. */
static uint32_t key_of(int64_t i, uint8_t *out)
{
	uint32_t n = (uint32_t)(i * 2654435761) % KEYS;

	memcpy(out, &n, sizeof(n));
	memset(out + sizeof(n), 'k', n % 20);
	return (uint32_t)sizeof(n) + n % 20;
}

static bool is_null(int64_t i)
{
	return i % 101 == 0;
}

static int64_t time_of(int64_t i)
{
	return i * 10 + (i % 7 ? 0 : 5000);
}

static void write_chunk(struct world *w, struct chunk_builder *builder, struct chunk_encoder *encoder, int kind)
{
	struct chunk_span span = chunk_builder_span(builder);
	struct chunk_blob blob = { 0 };
	sqlite3_stmt *stmt;

	chunk_builder_seal(builder, encoder, &blob);
	assert_int_equal(db_prepare(w->db, sql_queries_chunk_add, &stmt, &w->t), 0);
	db_bind_int(stmt, 1, 1);
	db_bind_int(stmt, 2, 0);
	db_bind_int(stmt, 3, kind);
	db_bind_int(stmt, 4, span.first_offset);
	db_bind_int(stmt, 5, span.end_offset);
	db_bind_int(stmt, 6, (int64_t)span.records);
	db_bind_int(stmt, 7, span.min_ms);
	db_bind_int(stmt, 8, span.max_ms);
	db_bind_blob(stmt, 9, blob.data, blob.size);
	assert_int_equal(db_run(stmt, &w->t), 0);
	sqlite3_finalize(stmt);
	chunk_blob_release(&blob);
}

/* Records [from, to), every 13th of them aborted. */
static void write_records(struct world *w, int64_t from, int64_t to)
{
	struct chunk_encoder *encoder = chunk_encoder_new(1);
	struct chunk_builder *builders[2] = { chunk_builder_new(CHUNK_ALWAYS), chunk_builder_new(CHUNK_ALWAYS) };
	uint8_t key[64];

	for (int64_t i = from; i < to; i++) {
		uint32_t size = key_of(i, key);
		struct chunk_builder *b = builders[i % 13 == 0];
		struct record r = { .offset = i * 2,
				    .timestamp_ms = time_of(i),
				    .key = key,
				    .key_size = is_null(i) ? -1 : (int32_t)size,
				    .value_size = i % 5 ? 3 : -1,
				    .value_hash = i % 5 ? 7 : 0 };

		assert_int_equal(chunk_builder_add(b, &r, &w->t), 0);
		if (chunk_builder_full(b) || chunk_builder_span(b).records == 5000)
			write_chunk(w, b, encoder, i % 13 == 0);
	}
	for (int kind = 0; kind < 2; kind++) {
		if (chunk_builder_span(builders[kind]).records)
			write_chunk(w, builders[kind], encoder, kind);
		chunk_builder_free(builders[kind]);
	}
	chunk_encoder_free(encoder);
}

/* Offsets are twice the record's number. */
static void check_range(struct keyset *keys, const struct keyset_range *range, bool only_recent)
{
	static uint8_t strata[KEYS];
	int64_t main = 0, recent = 0;
	uint8_t key[64];
	uint32_t n;

	memset(strata, 0, sizeof(strata));
	for (int64_t i = 0; i < RECORDS; i++) {
		int64_t hash;
		uint32_t size = key_of(i, key);

		if (i * 2 < range->start || i * 2 >= range->end || is_null(i))
			continue;
		memcpy(&n, key, sizeof(n));
		hash = keyset_hash(key, size);
		if (!only_recent && hash < keyset_main_threshold(keys))
			strata[n] |= STRATUM_MAIN;
		if ((i * 2 >= range->recent_offset || time_of(i) >= range->recent_ms) &&
		    hash < keyset_recent_threshold(keys))
			strata[n] |= STRATUM_RECENT;
	}
	for (int64_t i = 0; i < RECORDS; i++) {
		uint32_t size = key_of(i, key);
		struct keyset_entry *e = keyset_find(keys, keyset_hash(key, size), key, size);

		memcpy(&n, key, sizeof(n));
		assert_int_equal(e ? e->strata : 0, strata[n]);
	}
	for (n = 0; n < KEYS; n++) {
		main += (strata[n] & STRATUM_MAIN) != 0;
		recent += (strata[n] & STRATUM_RECENT) != 0;
	}
	assert_int_equal(keyset_main_count(keys), main);
	assert_int_equal(keyset_recent_count(keys), recent);
}

static void test_ranges(void **state)
{
	struct world *w = *state;
	static const struct {
		struct keyset_range range;
		int64_t limit;
		bool only_recent;
	} cases[] = {
		{ { 1, 0, 0, 2 * RECORDS, INT64_MAX, INT64_MAX }, INT64_MAX, false },
		{ { 1, 0, 0, 2 * RECORDS, INT64_MAX, INT64_MAX }, 500, false },
		{ { 1, 0, 0, 2 * RECORDS, 79000, INT64_MAX }, 1000, false },
		{ { 1, 0, 0, 2 * RECORDS, INT64_MAX, 400000 }, 1000, false },
		{ { 1, 0, 0, 2 * RECORDS, 78900, 399000 }, 1000, false },
		{ { 1, 0, 0, 2 * RECORDS, 78900, 399000 }, INT64_MAX, true },
		{ { 1, 0, 0, 2 * RECORDS, INT64_MAX, 399000 }, 100, true },
		{ { 1, 0, 0, 2 * RECORDS, 79001, INT64_MAX }, 100, true },
		{ { 1, 0, 20001, 30001, 25000, 120000 }, 1000, false },
		{ { 1, 0, 20001, 30001, 0, INT64_MAX }, 1000, false },
		{ { 1, 0, 30000, 30000, 0, 0 }, 1000, false },
		{ { 2, 0, 0, 2 * RECORDS, 0, 0 }, 1000, false },
	};

	write_records(w, 0, RECORDS);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct keyset *keys = keyset_new(cases[i].limit, 64 << 20, cases[i].only_recent);
		struct keyset_range expected = cases[i].range;

		assert_int_equal(keyset_add(&w->run, keys, w->db, &cases[i].range, &w->t), 0);
		if (expected.incarnation_id != 1)
			expected.end = expected.start;
		check_range(keys, &expected, cases[i].only_recent);
		keyset_free(keys);
	}
}

/* The history, then its tail: as if read at once. */
static void test_tail(void **state)
{
	struct world *w = *state;
	struct keyset *keys = keyset_new(800, 64 << 20, false);
	struct keyset_range head = { 1, 0, 0, RECORDS, 2 * RECORDS - 1000, INT64_MAX },
			    tail = { 1, 0, RECORDS, 2 * RECORDS, 2 * RECORDS - 1000, INT64_MAX };
	struct keyset_range whole = { 1, 0, 0, 2 * RECORDS, 2 * RECORDS - 1000, INT64_MAX };

	write_records(w, 0, RECORDS / 2);
	assert_int_equal(keyset_add(&w->run, keys, w->db, &head, &w->t), 0);
	write_records(w, RECORDS / 2, RECORDS);
	assert_int_equal(keyset_add(&w->run, keys, w->db, &tail, &w->t), 0);
	check_range(keys, &whole, false);
	keyset_free(keys);
}

/* Windowed keys are those inside, once each; keys too short for a window are none. */
static void test_cut(void **state)
{
	struct world *w = *state;
	struct keyset *keys = keyset_new(INT64_MAX, 64 << 20, false), *expected = keyset_new(INT64_MAX, 64 << 20, false);
	struct keyset_range whole = { 1, 0, 0, 2 * RECORDS, INT64_MAX, INT64_MAX };
	const struct keyset_entry *entry;
	uint8_t key[64];

	write_records(w, 0, RECORDS);
	keyset_cut(keys, KEYPART_WINDOWED);
	assert_int_equal(keyset_add(&w->run, keys, w->db, &whole, &w->t), 0);
	for (int64_t i = 0; i < RECORDS; i++) {
		uint32_t size = key_of(i, key);

		if (size >= 8 && !is_null(i))
			keyset_put(expected, keyset_hash(key, size - 8), key, size - 8, false);
	}
	assert_int_equal(keyset_count(keys), keyset_count(expected));
	assert_in_range(keyset_count(keys), 1000, KEYS - 500);
	for (size_t at = 0; (entry = keyset_next(expected, &at)) != NULL;)
		assert_non_null(keyset_find(keys, entry->hash, entry->key, entry->size));
	keyset_free(keys);
	keyset_free(expected);
}

static void test_damage_is_trouble(void **state)
{
	struct world *w = *state;
	struct keyset *keys = keyset_new(800, 64 << 20, false);
	struct keyset_range whole = { 1, 0, 0, 2 * RECORDS, INT64_MAX, INT64_MAX };

	write_records(w, 0, 1000);
	assert_int_equal(db_script(w->db, "UPDATE chunk SET data = substr(data, 1, length(data) - 3)", &w->t), 0);
	assert_int_equal(keyset_add(&w->run, keys, w->db, &whole, &w->t), -1);
	assert_non_null(strstr(w->t.text, "chunk"));
	keyset_free(keys);
}

static void test_stop(void **state)
{
	struct world *w = *state;
	struct keyset *keys = keyset_new(800, 64 << 20, false);
	struct keyset_range whole = { 1, 0, 0, 2 * RECORDS, INT64_MAX, INT64_MAX };

	write_records(w, 0, 20000);
	w->stop = 15;
	assert_int_equal(keyset_add(&w->run, keys, w->db, &whole, &w->t), -1);
	assert_string_equal(w->t.text, "stopped");
	keyset_free(keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ranges, open_world, close_world),
		cmocka_unit_test_setup_teardown(test_tail, open_world, close_world),
		cmocka_unit_test_setup_teardown(test_cut, open_world, close_world),
		cmocka_unit_test_setup_teardown(test_damage_is_trouble, open_world, close_world),
		cmocka_unit_test_setup_teardown(test_stop, open_world, close_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

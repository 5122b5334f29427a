/*
 * keyset_bench: how fast the pass over the history fills a key set.
 *
 *     keyset_bench [RECORDS [KEYS [LIMIT]]]          10,000,000 records of 2,000,000 keys, at most 100,000 sampled
 *
 * The history lies in memory. Prints one JSON object: records/s with the limit, and without one.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ingest/keyset.h"
#include "sql/chunk.h"
#include "sql/db.h"
#include "sql_data.h"

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void die(const char *why)
{
	fprintf(stderr, "keyset_bench: %s\n", why);
	exit(1);
}

static void add_chunk(sqlite3_stmt *stmt, struct chunk_builder *builder, struct chunk_encoder *encoder,
		      struct chunk_blob *blob)
{
	struct chunk_span span = chunk_builder_span(builder);
	int64_t numbers[] = { 1,           0,          0, span.first_offset, span.end_offset, (int64_t)span.records,
			      span.min_ms, span.max_ms };
	struct trouble t;

	chunk_builder_seal(builder, encoder, blob);
	for (int i = 0; i < 8; i++)
		db_bind_int(stmt, i + 1, numbers[i]);
	db_bind_blob(stmt, 9, blob->data, blob->size);
	if (db_run(stmt, &t) < 0)
		die(t.text);
}

static void fill(sqlite3 *db, int64_t records, int64_t keys)
{
	struct chunk_encoder *encoder = chunk_encoder_new(-5);
	struct chunk_builder *builder = chunk_builder_new(CHUNK_ALWAYS);
	struct chunk_blob blob = { 0 };
	sqlite3_stmt *stmt;
	struct trouble t;

	if (db_prepare(db, sql_queries_chunk_add, &stmt, &t) < 0)
		die(t.text);
	for (int64_t i = 0; i < records; i++) {
		char key[32];
		uint64_t n = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
		int size = snprintf(key, sizeof(key), "user-%09" PRIu64, (n >> 32) % (uint64_t)keys);
		struct record r = {
			.offset = i, .timestamp_ms = i, .key = key, .key_size = size, .value_size = 60, .value_hash = n
		};

		if (chunk_builder_add(builder, &r, &t) < 0)
			die(t.text);
		if (chunk_builder_full(builder))
			add_chunk(stmt, builder, encoder, &blob);
	}
	if (chunk_builder_span(builder).records)
		add_chunk(stmt, builder, encoder, &blob);
	sqlite3_finalize(stmt);
	chunk_blob_release(&blob);
	chunk_builder_free(builder);
	chunk_encoder_free(encoder);
}

static double speed(const struct run *run, sqlite3 *db, int64_t records, int64_t limit)
{
	struct keyset *keys = keyset_new(limit, (size_t)4 << 30, false);
	struct keyset_range range = { 1, 0, 0, records, INT64_MAX, INT64_MAX };
	struct trouble t;
	double start = now_s(), took;

	if (keyset_add(run, keys, db, &range, &t) < 0)
		die(t.text);
	took = now_s() - start;
	keyset_free(keys);
	return (double)records / took;
}

int main(int argc, char **argv)
{
	int64_t records = argc > 1 ? atoll(argv[1]) : 10000000, keys = argc > 2 ? atoll(argv[2]) : 2000000,
		limit = argc > 3 ? atoll(argv[3]) : 100000;
	static atomic_int never;
	struct run run = { .stop = &never };
	struct trouble t;
	double sampled, whole;
	sqlite3 *db;

	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		die("no memory");
	for (const struct sql_file *f = sql_schema_files; f->name; f++)
		if (db_script(db, f->text, &t) < 0)
			die(t.text);
	fill(db, records, keys);
	sampled = speed(&run, db, records, limit);
	whole = speed(&run, db, records, INT64_MAX);
	printf("{\"bench\": \"keyset\", \"records\": %" PRId64 ", \"keys\": %" PRId64 ", \"limit\": %" PRId64
	       ", \"sampled_per_second\": %.0f, \"all_per_second\": %.0f}\n",
	       records, keys, limit, sampled, whole);
	sqlite3_close(db);
	return 0;
}

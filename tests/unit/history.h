/*
 * history: small histories in memory for the tests of what reads them. Records are added place by place in rising
 * order; a call of history_seal makes one chunk of what was added since the last.
 */
#ifndef TESTS_UNIT_HISTORY_H
#define TESTS_UNIT_HISTORY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/chunk.h"
#include "sql/db.h"
#include "sql_data.h"

struct history {
	sqlite3 *db;
	struct chunk_encoder *encoder;
	struct chunk_builder *builder;
	struct chunk_blob blob;
	int64_t incarnation_id, partition;
	int kind;
};

static inline void history_run(sqlite3 *db, const char *sql)
{
	struct trouble t = { "" };

	if (db_script(db, sql, &t) < 0) {
		fputs(t.text, stderr);
		abort();
	}
}

static inline void history_open(struct history *h, sqlite3 *db)
{
	*h = (struct history){ .db = db };
	for (const struct sql_file *file = sql_schema_files; file->name; file++)
		history_run(db, file->text);
	h->encoder = chunk_encoder_new(1);
	h->builder = chunk_builder_new(CHUNK_NUMBER | CHUNK_SOURCE);
}

static inline void history_close(struct history *h)
{
	chunk_encoder_free(h->encoder);
	chunk_builder_free(h->builder);
	chunk_blob_release(&h->blob);
	sqlite3_close(h->db);
}

static inline void history_at(struct history *h, int64_t incarnation_id, int64_t partition, enum chunk_kind kind)
{
	h->incarnation_id = incarnation_id;
	h->partition = partition;
	h->kind = kind;
}

static inline void history_add(struct history *h, const struct record *record)
{
	struct trouble t = { "" };

	if (chunk_builder_add(h->builder, record, &t) < 0) {
		fputs(t.text, stderr);
		abort();
	}
}

/* Records [start, end), each with the key "k<offset>", a value of 10 bytes and the timestamp 1000 x offset. */
static inline void history_fill(struct history *h, int64_t start, int64_t end)
{
	for (int64_t offset = start; offset < end; offset++) {
		char key[32];
		int size = snprintf(key, sizeof(key), "k%lld", (long long)offset);

		history_add(h, &(struct record){ .offset = offset,
						 .timestamp_ms = 1000 * offset,
						 .key = key,
						 .key_size = size,
						 .value_size = 10,
						 .value_hash = 77 });
	}
}

static inline void history_seal(struct history *h)
{
	struct chunk_span s = chunk_builder_span(h->builder);
	sqlite3_stmt *stmt;

	chunk_builder_seal(h->builder, h->encoder, &h->blob);
	if (db_prepare(h->db,
		       "INSERT INTO chunk (incarnation_id, partition, kind, first_offset, end_offset, records, min_ms, "
		       "max_ms, data) "
		       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
		       &stmt, NULL) < 0)
		abort();
	db_bind_int(stmt, 1, h->incarnation_id);
	db_bind_int(stmt, 2, h->partition);
	db_bind_int(stmt, 3, h->kind);
	db_bind_int(stmt, 4, s.first_offset);
	db_bind_int(stmt, 5, s.end_offset);
	db_bind_int(stmt, 6, (int64_t)s.records);
	db_bind_int(stmt, 7, s.min_ms);
	db_bind_int(stmt, 8, s.max_ms);
	db_bind_blob(stmt, 9, h->blob.data, h->blob.size);
	if (db_run(stmt, NULL) < 0)
		abort();
	sqlite3_finalize(stmt);
}

/* All rows of a query as "a|b\nc|d\n", NULL as "-"; trouble as its words. The caller frees. */
static inline char *history_ask(sqlite3 *db, const char *sql)
{
	struct trouble t = { "" };
	sqlite3_stmt *stmt;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int more;

	if (db_prepare(db, sql, &stmt, &t) == 0) {
		while ((more = db_step(stmt, &t)) > 0) {
			for (int i = 0; i < sqlite3_column_count(stmt); i++) {
				const char *value = (const char *)sqlite3_column_text(stmt, i);

				fprintf(out, "%s%s", i ? "|" : "", value ? value : "-");
			}
			fputc('\n', out);
		}
		sqlite3_finalize(stmt);
	}
	fputs(t.text, out);
	fclose(out);
	return text;
}

/* Asserts with cmocka that sql gives these rows. */
#define assert_rows(db, sql, want)                                                                                     \
	do {                                                                                                           \
		char *rows_ = history_ask(db, sql);                                                                    \
		assert_string_equal(rows_, want);                                                                      \
		free(rows_);                                                                                           \
	} while (0)

#endif

/*
 * stream_rows: jobs for the writer. Pending and DLQ entries are gathered into jobs of thousands
 * (stream_pending_rows.c, stream_blocks.c).
 */
#include "ingest/stream_rows.h"

#include <stdlib.h>
#include <string.h>

#include "ingest/stream_blocks.h"
#include "sql/db.h"
#include "sql/mem.h"
#include "sql_data.h"

int stream_rows_init(struct stream_rows *rows, const struct run *run, sqlite3 *db, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int found;

	*rows = (struct stream_rows){ .run = run };
	if (stream_pending_rows_init(db, t) < 0 || db_prepare(db, sql_queries_stream_next_ids, &stmt, t) < 0)
		return -1;
	found = db_step(stmt, t);
	if (found > 0) {
		rows->next_stream = db_int(stmt, 0);
		rows->next_group = db_int(stmt, 1);
		rows->next_consumer = db_int(stmt, 2);
	}
	sqlite3_finalize(stmt);
	return found > 0 ? 0 : -1;
}

/* --- batches ------------------------------------------------------------------------------------------------------ */

enum { BATCH_JOBS = 256, BATCH_BYTES = 512 << 10 };

/* Jobs that go to the writer as one: it commits after a number of jobs, and a stream with its groups makes many. */
struct rows_batch {
	size_t count, bytes;
	struct rows_job jobs[BATCH_JOBS];
};

static void batch_done(void *job)
{
	struct rows_batch *b = job;

	for (size_t i = 0; i < b->count; i++)
		b->jobs[i].done(b->jobs[i].job);
	free(b);
}

static int batch_apply(struct writer *writer, void *job, struct trouble *t)
{
	const struct rows_batch *b = job;

	for (size_t i = 0; i < b->count; i++)
		if (b->jobs[i].apply(writer, b->jobs[i].job, t) < 0)
			return -1;
	return 0;
}

static int batch_flush(struct stream_rows *rows, struct trouble *t)
{
	struct rows_batch *b = rows->batch;

	rows->batch = NULL;
	if (!b || writer_push(rows->writer, batch_apply, batch_done, b, sizeof(*b) + b->bytes) == 0)
		return 0;
	rows->failed = true;
	return trouble_set(t, "the index cannot be written");
}

int stream_rows_push(struct stream_rows *rows, const struct rows_job *job, struct trouble *t)
{
	struct rows_batch *b = rows->batch;

	if (!b)
		b = rows->batch = xalloc(sizeof(*b));
	b->jobs[b->count++] = *job;
	b->bytes += job->bytes;
	return b->count == BATCH_JOBS || b->bytes >= BATCH_BYTES ? batch_flush(rows, t) : 0;
}

int stream_rows_flush(struct stream_rows *rows, struct trouble *t)
{
	int pending = stream_pending_flush(rows, t), dlq = stream_dlq_flush(rows, t), batch = batch_flush(rows, t);

	return pending < 0 || dlq < 0 || batch < 0 ? -1 : 0;
}

/* --- rows of the typed tables ------------------------------------------------------------------------------------- */

#define KEEP_INT(name)
#define KEEP_TEXT(name) j->row.name = j->row.name ? xstrdup(j->row.name) : NULL;
#define KEEP_BLOB(name)                                                     \
	if (j->row.name.at) {                                               \
		j->row.name.at = xmemdup(j->row.name.at, j->row.name.size); \
		bytes += j->row.name.size;                                  \
	}
#define FREE_INT(name)
#define FREE_TEXT(name) free((char *)j->row.name);
#define FREE_BLOB(name) free((void *)j->row.name.at);

/* For each table a job that owns a copy of the row, and knows the id that the row must get. */
#define ROW_JOB(table, COLUMNS)                                                                                   \
	struct table##_job {                                                                                      \
		int64_t id;                                                                                       \
		struct fact_##table row;                                                                          \
	};                                                                                                        \
                                                                                                                  \
	static void table##_done(void *job)                                                                       \
	{                                                                                                         \
		struct table##_job *j = job;                                                                      \
                                                                                                                  \
		COLUMNS(FREE_INT, FREE_TEXT, FREE_BLOB)                                                           \
		free(j);                                                                                          \
	}                                                                                                         \
                                                                                                                  \
	static int table##_apply(struct writer *writer, void *job, struct trouble *t)                             \
	{                                                                                                         \
		const struct table##_job *j = job;                                                                \
		sqlite3_stmt *stmt = writer_statement(writer, fact_##table##_sql, t);                             \
                                                                                                                  \
		if (!stmt)                                                                                        \
			return -1;                                                                                \
		fact_##table##_bind(stmt, &j->row);                                                               \
		if (db_run(stmt, t) < 0)                                                                          \
			return -1;                                                                                \
		if (sqlite3_last_insert_rowid(sqlite3_db_handle(stmt)) != j->id)                                  \
			return trouble_set(t, "another process writes to the index");                             \
		return 0;                                                                                         \
	}                                                                                                         \
                                                                                                                  \
	static int64_t table##_push(struct stream_rows *rows, const struct fact_##table *row, int64_t *next,      \
				    struct trouble *t)                                                            \
	{                                                                                                         \
		size_t bytes = sizeof(struct table##_job);                                                        \
		struct table##_job *j = xalloc(bytes);                                                            \
		int64_t id = (*next)++;                                                                           \
                                                                                                                  \
		j->id = id;                                                                                       \
		j->row = *row;                                                                                    \
		j->row.run_id = rows->run->id;                                                                    \
		COLUMNS(KEEP_INT, KEEP_TEXT, KEEP_BLOB)                                                           \
		return stream_rows_push(rows, &(struct rows_job){ table##_apply, table##_done, j, bytes }, t) < 0 \
			       ? -1                                                                               \
			       : id;                                                                              \
	}

ROW_JOB(stream, FACT_STREAM)
ROW_JOB(stream_group, FACT_STREAM_GROUP)
ROW_JOB(stream_consumer, FACT_STREAM_CONSUMER)

int64_t stream_rows_stream(struct stream_rows *rows, const struct fact_stream *row, struct trouble *t)
{
	return stream_push(rows, row, &rows->next_stream, t);
}

int64_t stream_rows_group(struct stream_rows *rows, const struct fact_stream_group *row, struct trouble *t)
{
	return stream_group_push(rows, row, &rows->next_group, t);
}

int64_t stream_rows_consumer(struct stream_rows *rows, const struct fact_stream_consumer *row, struct trouble *t)
{
	return stream_consumer_push(rows, row, &rows->next_consumer, t);
}

/* --- what becomes known later ------------------------------------------------------------------------------------- */

static int group_end_apply(struct writer *writer, void *job, struct trouble *t)
{
	const struct stream_group_job *j = job;
	const struct fact_stream_group *g = &j->row;
	sqlite3_stmt *stmt = writer_statement(writer, sql_queries_stream_group_end, t);

	if (!stmt)
		return -1;
	db_bind_int(stmt, 1, j->id);
	db_bind_text(stmt, 2, g->trouble);
	db_bind_int(stmt, 3, g->consumers_after);
	db_bind_int(stmt, 4, g->pending_after);
	db_bind_blob(stmt, 5, g->last_delivered_after.at, g->last_delivered_after.size);
	db_bind_int(stmt, 6, g->entries_read_after);
	db_bind_int(stmt, 7, g->lag_after);
	db_bind_int(stmt, 8, g->threshold);
	db_bind_int(stmt, 9, g->listed);
	db_bind_int(stmt, 10, g->kept);
	db_bind_int(stmt, 11, g->acknowledged);
	return db_run(stmt, t);
}

int stream_rows_group_end(struct stream_rows *rows, int64_t group_id, const struct fact_stream_group *row,
			  struct trouble *t)
{
	size_t bytes = sizeof(struct stream_group_job);
	struct stream_group_job *j = xalloc(bytes);

	j->id = group_id;
	j->row = *row;
	FACT_STREAM_GROUP(KEEP_INT, KEEP_TEXT, KEEP_BLOB)
	return stream_rows_push(rows, &(struct rows_job){ group_end_apply, stream_group_done, j, bytes }, t);
}

struct stream_end_job {
	int64_t stream_id, listed;
	char trouble[]; /* empty: none */
};

static int stream_end_apply(struct writer *writer, void *job, struct trouble *t)
{
	const struct stream_end_job *j = job;
	sqlite3_stmt *stmt = writer_statement(writer, sql_queries_stream_end, t);

	if (!stmt)
		return -1;
	db_bind_int(stmt, 1, j->stream_id);
	db_bind_int(stmt, 2, j->listed);
	db_bind_text(stmt, 3, j->trouble[0] ? j->trouble : NULL);
	return db_run(stmt, t);
}

int stream_rows_stream_end(struct stream_rows *rows, int64_t stream_id, int64_t listed, const char *trouble,
			   struct trouble *t)
{
	size_t length = trouble ? strlen(trouble) : 0, bytes = sizeof(struct stream_end_job) + length + 1;
	struct stream_end_job *j = xalloc(bytes);

	j->stream_id = stream_id;
	j->listed = listed;
	memcpy(j->trouble, trouble ? trouble : "", length);
	return stream_rows_push(rows, &(struct rows_job){ stream_end_apply, free, j, bytes }, t);
}

/* --- what no later run needs -------------------------------------------------------------------------------------- */

struct forget_job {
	int64_t run_id;
	char *watch, *redis;
};

static void forget_done(void *job)
{
	struct forget_job *j = job;

	free(j->watch);
	free(j->redis);
	free(j);
}

static int forget_apply(struct writer *writer, void *job, struct trouble *t)
{
	const char *const statements[] = { sql_queries_stream_pending_forget, sql_queries_stream_dlq_forget };
	const struct forget_job *j = job;

	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++) {
		sqlite3_stmt *stmt = writer_statement(writer, statements[i], t);

		if (!stmt)
			return -1;
		db_bind_text(stmt, 1, j->watch);
		db_bind_text(stmt, 2, j->redis);
		db_bind_int(stmt, 3, j->run_id);
		if (db_run(stmt, t) < 0)
			return -1;
	}
	return 0;
}

int stream_rows_forget(struct stream_rows *rows, const char *watch, const char *redis, struct trouble *t)
{
	struct forget_job *j = xalloc(sizeof(*j));

	j->run_id = rows->run->id;
	j->watch = xstrdup(watch);
	j->redis = xstrdup(redis);
	return stream_rows_push(rows, &(struct rows_job){ forget_apply, forget_done, j, sizeof(*j) }, t);
}

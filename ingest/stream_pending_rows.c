/*
 * stream_pending_rows: pending entries into the index, in jobs of thousands. The rows of a job are a virtual table,
 *
 *     INSERT INTO pending SELECT ?1, ... FROM pending_rows(?2)        ?2: a pointer to the job
 *
 * so that SQLite takes all of them with one statement, at less than half of the price.
 */
#include <stdlib.h>
#include <string.h>

#include "ingest/stream_blocks.h"
#include "sql/db.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"
#include "sql_data.h"

enum { JOB_ROWS = 8192 };

struct pending_item {
	uint8_t id[ENTRY_SIZE];
	int64_t consumer_id, idle_ms, deliveries, present, content;
	struct kept consumer;
};

struct pending_job {
	int64_t group_id;
	size_t count;
	struct buffer bytes;
	struct pending_item rows[JOB_ROWS];
};

/* --- the virtual table -------------------------------------------------------------------------------------------- */

#define POINTER "fencepost pending rows"

enum {
	COLUMN_ENTRY,
	COLUMN_CONSUMER_ID,
	COLUMN_CONSUMER,
	COLUMN_IDLE,
	COLUMN_DELIVERIES,
	COLUMN_PRESENT,
	COLUMN_CONTENT,
	COLUMN_JOB
};

struct rows_cursor {
	sqlite3_vtab_cursor base;
	const struct pending_job *job; /* NULL: none was given */
	size_t at;
};

static int rows_connect(sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **table,
			char **words)
{
	(void)context, (void)argc, (void)argv, (void)words;
	*table = sqlite3_malloc(sizeof(**table));
	if (!*table)
		return SQLITE_NOMEM;
	memset(*table, 0, sizeof(**table));
	return sqlite3_declare_vtab(db, "CREATE TABLE x(entry, consumer_id, consumer, idle_ms, deliveries, present, "
					"content, job HIDDEN)");
}

static int rows_disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

static int rows_choose(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	for (int i = 0; i < info->nConstraint; i++) {
		if (info->aConstraint[i].iColumn != COLUMN_JOB || !info->aConstraint[i].usable)
			continue;
		info->aConstraintUsage[i].argvIndex = 1;
		info->aConstraintUsage[i].omit = 1;
		return SQLITE_OK;
	}
	return SQLITE_CONSTRAINT;
}

static int rows_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor)
{
	struct rows_cursor *c = xalloc(sizeof(*c));

	(void)table;
	*cursor = &c->base;
	return SQLITE_OK;
}

static int rows_close(sqlite3_vtab_cursor *cursor)
{
	free(cursor);
	return SQLITE_OK;
}

static int rows_filter(sqlite3_vtab_cursor *cursor, int plan, const char *words, int argc, sqlite3_value **argv)
{
	struct rows_cursor *c = (struct rows_cursor *)cursor;

	(void)plan, (void)words;
	c->job = argc ? sqlite3_value_pointer(argv[0], POINTER) : NULL;
	c->at = 0;
	return SQLITE_OK;
}

static int rows_next(sqlite3_vtab_cursor *cursor)
{
	((struct rows_cursor *)cursor)->at++;
	return SQLITE_OK;
}

static int rows_eof(sqlite3_vtab_cursor *cursor)
{
	const struct rows_cursor *c = (const struct rows_cursor *)cursor;

	return !c->job || c->at == c->job->count;
}

static void give_int(sqlite3_context *context, int64_t value)
{
	if (value == UNKNOWN)
		sqlite3_result_null(context);
	else
		sqlite3_result_int64(context, value);
}

static int rows_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
	const struct rows_cursor *c = (const struct rows_cursor *)cursor;
	const struct pending_item *row = &c->job->rows[c->at];
	struct bytes consumer;

	switch (column) {
	case COLUMN_ENTRY: sqlite3_result_blob(context, row->id, ENTRY_SIZE, SQLITE_STATIC); break;
	case COLUMN_CONSUMER_ID: give_int(context, row->consumer_id); break;
	case COLUMN_CONSUMER:
		consumer = kept_bytes(&c->job->bytes, row->consumer);
		if (consumer.at)
			sqlite3_result_blob64(context, consumer.at, consumer.size, SQLITE_STATIC);
		break;
	case COLUMN_IDLE: give_int(context, row->idle_ms); break;
	case COLUMN_DELIVERIES: give_int(context, row->deliveries); break;
	case COLUMN_PRESENT: give_int(context, row->present); break;
	case COLUMN_CONTENT: give_int(context, row->content); break;
	default: break;
	}
	return SQLITE_OK;
}

static int rows_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
	*rowid = (sqlite3_int64)((const struct rows_cursor *)cursor)->at;
	return SQLITE_OK;
}

/* Without xCreate: nobody can make a table of it, and it is there by its name alone. */
static const sqlite3_module module = {
	.xConnect = rows_connect,
	.xBestIndex = rows_choose,
	.xDisconnect = rows_disconnect,
	.xOpen = rows_open,
	.xClose = rows_close,
	.xFilter = rows_filter,
	.xNext = rows_next,
	.xEof = rows_eof,
	.xColumn = rows_column,
	.xRowid = rows_rowid,
};

int stream_pending_rows_init(sqlite3 *db, struct trouble *t)
{
	if (sqlite3_create_module(db, "pending_rows", &module, NULL) != SQLITE_OK)
		return db_trouble(db, t, "make the table pending_rows");
	return 0;
}

/* --- the sink ----------------------------------------------------------------------------------------------------- */

static void pending_done(void *job)
{
	struct pending_job *j = job;

	buffer_release(&j->bytes);
	free(j);
}

static int pending_apply(struct writer *writer, void *job, struct trouble *t)
{
	struct pending_job *j = job;
	sqlite3_stmt *stmt = writer_statement(writer, sql_queries_stream_pending_add, t);

	if (!stmt)
		return -1;
	if (FAULT(STREAM_ROWS))
		return trouble_set(t, "insert pending entries: refused");
	db_bind_int(stmt, 1, j->group_id);
	sqlite3_bind_pointer(stmt, 2, j, POINTER, NULL);
	return db_run(stmt, t);
}

int stream_pending_flush(struct stream_rows *rows, struct trouble *t)
{
	struct pending_job *j = rows->pending;

	size_t bytes;

	rows->pending = NULL;
	if (!j)
		return 0;
	bytes = j->count * sizeof(*j->rows) + j->bytes.size; /* the rest was never touched */
	return stream_rows_push(rows, &(struct rows_job){ pending_apply, pending_done, j, bytes }, t);
}

int stream_rows_pending(struct stream_rows *rows, int64_t group_id, const struct pending_row *row, struct trouble *t)
{
	struct pending_job *j = rows->pending;
	struct pending_item *item;

	if (j && (j->count == JOB_ROWS || j->group_id != group_id) && stream_pending_flush(rows, t) < 0)
		return -1;
	if (!rows->pending) {
		rows->pending = xgrow(NULL, 1, sizeof(*j));
		rows->pending->group_id = group_id;
		rows->pending->count = 0;
		rows->pending->bytes = (struct buffer){ 0 };
	}
	j = rows->pending;
	item = &j->rows[j->count++];
	memcpy(item->id, row->id, ENTRY_SIZE);
	item->consumer_id = row->consumer_id;
	item->consumer = stream_keep(&j->bytes, row->consumer);
	item->idle_ms = row->idle_ms;
	item->deliveries = row->deliveries;
	item->present = row->present;
	item->content = row->content;
	return 0;
}

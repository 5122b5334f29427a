/*
 * sample_rows: an eponymous virtual table whose only argument is a pointer to struct sample_rows. Columns are those of
 * facts.h.
 */
#include "ingest/sample_rows.h"

#include <stdlib.h>

#include "sql/db.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"
#include "sql/run.h"

#define POINTER_TYPE "fencepost sample_rows"

#define NAME(name)   ", " #name
static const char insert_sql[] = "INSERT INTO fence (run_id" FACT_FENCE(NAME, NAME, NAME) ") SELECT run_id" FACT_FENCE(
	NAME, NAME, NAME) " FROM sample_rows(?)";
static const char declare_sql[] = "CREATE TABLE sample_rows (run_id" FACT_FENCE(NAME, NAME, NAME) ", rows HIDDEN)";
#undef NAME

#define NUMBER(name) COLUMN_##name,
enum column { COLUMN_run_id, FACT_FENCE(NUMBER, NUMBER, NUMBER) COLUMN_rows };
#undef NUMBER

struct cursor {
	sqlite3_vtab_cursor base;
	const struct sample_rows *rows;
	size_t at;
};

static int table_connect(sqlite3 *db, void *context, int count, const char *const *arguments, sqlite3_vtab **table,
			 char **error)
{
	int rc = sqlite3_declare_vtab(db, declare_sql);

	(void)context, (void)count, (void)arguments, (void)error;
	if (rc == SQLITE_OK)
		*table = xalloc(sizeof(**table));
	return rc;
}

static int table_disconnect(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

static int table_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	for (int i = 0; i < info->nConstraint; i++) {
		if (info->aConstraint[i].iColumn != COLUMN_rows || !info->aConstraint[i].usable)
			continue;
		info->aConstraintUsage[i].argvIndex = 1;
		info->aConstraintUsage[i].omit = 1;
		info->estimatedCost = 1;
		return SQLITE_OK;
	}
	return SQLITE_CONSTRAINT;
}

static int cursor_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor)
{
	struct cursor *c = xalloc(sizeof(*c));

	(void)table;
	*cursor = &c->base;
	return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *cursor)
{
	free(cursor);
	return SQLITE_OK;
}

static int cursor_filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int count, sqlite3_value **values)
{
	static const struct sample_rows none = { NULL, 0 };
	struct cursor *c = (struct cursor *)cursor;
	const struct sample_rows *rows = count ? sqlite3_value_pointer(values[0], POINTER_TYPE) : NULL;

	(void)number, (void)text;
	c->rows = rows ? rows : &none;
	c->at = 0;
	return SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *cursor)
{
	((struct cursor *)cursor)->at++;
	return SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *cursor)
{
	const struct cursor *c = (const struct cursor *)cursor;

	return c->at >= c->rows->count;
}

static void give_int(sqlite3_context *context, int64_t value)
{
	if (value != UNKNOWN)
		sqlite3_result_int64(context, value);
}

static void give_text(sqlite3_context *context, const char *text)
{
	if (text)
		sqlite3_result_text(context, text, -1, SQLITE_STATIC);
}

static void give_blob(sqlite3_context *context, struct bytes blob)
{
	if (blob.at)
		sqlite3_result_blob64(context, blob.at, blob.size, SQLITE_STATIC);
}

static int cursor_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
	const struct cursor *c = (const struct cursor *)cursor;
	const struct fact_fence *row = &c->rows->rows[c->at];

	switch ((enum column)column) {
#define INT(name)                             \
	case COLUMN_##name:                   \
		give_int(context, row->name); \
		break;
#define TEXT(name)                             \
	case COLUMN_##name:                    \
		give_text(context, row->name); \
		break;
#define BLOB(name) \
	case COLUMN_##name: give_blob(context, row->name); break;
		INT(run_id)
		FACT_FENCE(INT, TEXT, BLOB)
	case COLUMN_rows: break;
#undef INT
#undef TEXT
#undef BLOB
	}
	return SQLITE_OK;
}

static int cursor_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
	*rowid = (sqlite3_int64)((struct cursor *)cursor)->at;
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.xConnect = table_connect,
	.xBestIndex = table_best_index,
	.xDisconnect = table_disconnect,
	.xOpen = cursor_open,
	.xClose = cursor_close,
	.xFilter = cursor_filter,
	.xNext = cursor_next,
	.xEof = cursor_eof,
	.xColumn = cursor_column,
	.xRowid = cursor_rowid,
};

/* The connection learns of the virtual table when it is first needed. */
static sqlite3_stmt *insert_statement(struct writer *writer, struct trouble *t)
{
	sqlite3_stmt *stmt = writer_statement(writer, insert_sql, NULL);
	sqlite3 *db;

	if (stmt)
		return stmt;
	stmt = writer_statement(writer, fact_fence_sql, t);
	if (!stmt)
		return NULL;
	db = sqlite3_db_handle(stmt);
	if (sqlite3_create_module(db, "sample_rows", &module, NULL) != SQLITE_OK) {
		db_trouble(db, t, "prepare");
		return NULL;
	}
	return writer_statement(writer, insert_sql, t);
}

int sample_rows_insert(struct writer *writer, const struct sample_rows *rows, struct trouble *t)
{
	sqlite3_stmt *stmt = insert_statement(writer, t);

	if (!stmt)
		return -1;
	sqlite3_bind_pointer(stmt, 1, (void *)rows, POINTER_TYPE, NULL); /* only read */
	return FAULT(SAMPLE_WRITE) ? trouble_set(t, "samples cannot be inserted") : db_run(stmt, t);
}

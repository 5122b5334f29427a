/* bulk: an eponymous virtual table that walks its source once. Columns beyond those that a row has are NULL. */
#include "analyzer/bulk.h"

#include <stdlib.h>

#include "sql/db.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"
#include "sql/run.h"

struct bulk_cursor {
	sqlite3_vtab_cursor base;
	const struct bulk_source *source;
	size_t index;
	struct bulk_row row;
};

struct bulk_table {
	sqlite3_vtab base;
	const struct bulk_source *source;
};

void bulk_int(struct bulk_row *row, int64_t value)
{
	struct bulk_value *v = &row->value[row->columns++];

	v->kind = BULK_INT;
	v->number = value;
}

void bulk_blob(struct bulk_row *row, const void *bytes, size_t size)
{
	struct bulk_value *v = &row->value[row->columns++];

	v->kind = BULK_BLOB;
	v->bytes = bytes;
	v->size = size;
}

void bulk_text(struct bulk_row *row, const char *text)
{
	struct bulk_value *v = &row->value[row->columns++];

	v->kind = BULK_TEXT;
	v->bytes = text;
}

static const char DECLARATION[] =
	"CREATE TABLE x (c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, "
	"c20, "
	"c21, c22, c23, c24, c25, c26, c27, c28, c29, c30, c31, c32, c33, c34, c35, c36, c37, c38, c39)";

static int bulk_connect(sqlite3 *db, void *source, int argc, const char *const *argv, sqlite3_vtab **vtab, char **error)
{
	struct bulk_table *table = xalloc(sizeof(*table));

	(void)argc;
	(void)argv;
	(void)error;
	table->source = source;
	*vtab = &table->base;
	return sqlite3_declare_vtab(db, DECLARATION);
}

static int bulk_disconnect(sqlite3_vtab *vtab)
{
	free(vtab);
	return SQLITE_OK;
}

static int bulk_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	(void)vtab;
	info->estimatedCost = 1;
	return SQLITE_OK;
}

static int bulk_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor)
{
	struct bulk_cursor *c = xalloc(sizeof(*c));

	c->source = ((struct bulk_table *)vtab)->source;
	*cursor = &c->base;
	return SQLITE_OK;
}

static int bulk_close(sqlite3_vtab_cursor *cursor)
{
	free(cursor);
	return SQLITE_OK;
}

static void bulk_fill(struct bulk_cursor *c)
{
	c->row.columns = 0;
	if (c->index < c->source->rows)
		c->source->fill(c->source->context, c->index, &c->row);
}

static int bulk_filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int argc, sqlite3_value **argv)
{
	struct bulk_cursor *c = (struct bulk_cursor *)cursor;

	(void)number;
	(void)text;
	(void)argc;
	(void)argv;
	c->index = 0;
	bulk_fill(c);
	return SQLITE_OK;
}

static int bulk_next(sqlite3_vtab_cursor *cursor)
{
	struct bulk_cursor *c = (struct bulk_cursor *)cursor;

	c->index++;
	bulk_fill(c);
	return FAULT(FOLD_WRITE) ? SQLITE_IOERR : SQLITE_OK;
}

static int bulk_eof(sqlite3_vtab_cursor *cursor)
{
	const struct bulk_cursor *c = (const struct bulk_cursor *)cursor;

	return c->index >= c->source->rows;
}

static int bulk_column(sqlite3_vtab_cursor *cursor, sqlite3_context *out, int column)
{
	const struct bulk_cursor *c = (const struct bulk_cursor *)cursor;
	const struct bulk_value *v = &c->row.value[column];

	if (column >= c->row.columns)
		sqlite3_result_null(out);
	else if (v->kind == BULK_INT && v->number != UNKNOWN)
		sqlite3_result_int64(out, v->number);
	else if (v->kind == BULK_BLOB && v->bytes)
		sqlite3_result_blob64(out, v->bytes, v->size, SQLITE_STATIC);
	else if (v->kind == BULK_TEXT && v->bytes)
		sqlite3_result_text(out, v->bytes, -1, SQLITE_STATIC);
	else
		sqlite3_result_null(out);
	return SQLITE_OK;
}

static int bulk_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
	*rowid = (sqlite3_int64)((const struct bulk_cursor *)cursor)->index;
	return SQLITE_OK;
}

static const sqlite3_module bulk_module = {
	.iVersion = 1,
	.xConnect = bulk_connect,
	.xBestIndex = bulk_best_index,
	.xDisconnect = bulk_disconnect,
	.xOpen = bulk_open,
	.xClose = bulk_close,
	.xFilter = bulk_filter,
	.xNext = bulk_next,
	.xEof = bulk_eof,
	.xColumn = bulk_column,
	.xRowid = bulk_rowid,
};

int bulk_insert(sqlite3 *db, const char *sql, const struct bulk_source *source, struct trouble *t)
{
	struct bulk_source copy = *source;
	sqlite3_stmt *stmt;
	int result = -1;

	if (sqlite3_create_module(db, "bulk", &bulk_module, &copy) != SQLITE_OK)
		return db_trouble(db, t, "register table bulk");
	if (db_prepare(db, sql, &stmt, t) == 0)
		result = db_run(stmt, t);
	sqlite3_finalize(stmt);
	sqlite3_create_module(db, "bulk", NULL, NULL);
	return result;
}

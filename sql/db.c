/* db: SQLite with three-valued steps. */
#include "sql/db.h"

#include "sql/faultpoint.h"
#include "sql/mem.h"
#include "sql/run.h"

int db_trouble(sqlite3 *db, struct trouble *t, const char *doing)
{
	int code = sqlite3_extended_errcode(db);
	const char *file = sqlite3_db_filename(db, "main");

	return trouble_set(t, "%s: index %s: %s (SQLite code %d)", doing, file && *file ? file : "in memory",
			   sqlite3_errmsg(db), code);
}

int db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **stmt, struct trouble *t)
{
	bool fails = t && FAULT(DB_PREPARE); /* who takes no words expects that it may fail */

	*stmt = NULL;
	if (!fails && sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL) == SQLITE_OK)
		return 0;
	return db_trouble(db, t, "prepare");
}

sqlite3_stmt *db_query(sqlite3 *db, const char *sql, int64_t id, struct trouble *t)
{
	sqlite3_stmt *stmt;

	if (db_prepare(db, sql, &stmt, t) == 0)
		db_bind_int(stmt, 1, id);
	return stmt;
}

int db_step(sqlite3_stmt *stmt, struct trouble *t)
{
	int result = 0, rc;

	if (!stmt)
		return -1;
	rc = FAULT(DB_STEP) ? SQLITE_IOERR : sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		return 1;
	if (rc != SQLITE_DONE)
		result = db_trouble(sqlite3_db_handle(stmt), t, sqlite3_stmt_readonly(stmt) ? "read" : "write");
	sqlite3_reset(stmt);
	return result;
}

int db_run(sqlite3_stmt *stmt, struct trouble *t)
{
	int more;

	while ((more = db_step(stmt, t)) > 0)
		;
	sqlite3_clear_bindings(stmt);
	return more;
}

int db_script(sqlite3 *db, const char *sql, struct trouble *t)
{
	if (!FAULT(DB_SCRIPT) && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return db_trouble(db, t, "run script");
}

void db_bind_int(sqlite3_stmt *stmt, int column, int64_t value)
{
	if (value == UNKNOWN)
		sqlite3_bind_null(stmt, column);
	else
		sqlite3_bind_int64(stmt, column, value);
}

void db_bind_text(sqlite3_stmt *stmt, int column, const char *text)
{
	if (text)
		sqlite3_bind_text(stmt, column, text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(stmt, column);
}

void db_bind_blob(sqlite3_stmt *stmt, int column, const void *bytes, size_t size)
{
	if (bytes)
		sqlite3_bind_blob64(stmt, column, bytes, size, SQLITE_STATIC);
	else
		sqlite3_bind_null(stmt, column);
}

void db_bind_int_named(sqlite3_stmt *stmt, const char *name, int64_t value)
{
	int column = sqlite3_bind_parameter_index(stmt, name);

	if (column)
		db_bind_int(stmt, column, value);
}

void db_bind_text_named(sqlite3_stmt *stmt, const char *name, const char *text)
{
	int column = sqlite3_bind_parameter_index(stmt, name);

	if (column)
		db_bind_text(stmt, column, text);
}

int64_t db_int(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL ? UNKNOWN : sqlite3_column_int64(stmt, column);
}

char *db_text_dup(sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text ? xstrdup(text) : NULL;
}

int db_begin(sqlite3 *db, struct trouble *t)
{
	return db_script(db, "BEGIN IMMEDIATE", t);
}

int db_commit(sqlite3 *db, struct trouble *t)
{
	return FAULT(DB_COMMIT) ? db_trouble(db, t, "commit") : db_script(db, "COMMIT", t);
}

void db_rollback(sqlite3 *db)
{
	if (!sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
}

/* facts: the statements and bindings that the X-macros of facts.h describe. */
#include "sql/facts.h"

#include "sql/db.h"

#define NAME(name) ", " #name
#define MARK(name) ", ?"
#define BIND_INT(name) db_bind_int(stmt, ++column, row->name);
#define BIND_TEXT(name) db_bind_text(stmt, ++column, row->name);
#define BIND_BLOB(name) db_bind_blob(stmt, ++column, row->name.at, row->name.size);

#define DEFINE(table, COLUMNS)                                                                                         \
	const char fact_##table##_sql[] = "INSERT INTO " #table " (run_id" COLUMNS(NAME, NAME, NAME)                   \
					  ") VALUES (?" COLUMNS(MARK, MARK, MARK) ")";                                 \
	void fact_##table##_bind(sqlite3_stmt *stmt, const struct fact_##table *row)                                   \
	{                                                                                                              \
		int column = 0;                                                                                        \
                                                                                                                       \
		BIND_INT(run_id)                                                                                       \
		COLUMNS(BIND_INT, BIND_TEXT, BIND_BLOB)                                                                \
	}                                                                                                              \
	int fact_##table##_add(sqlite3 *db, const struct fact_##table *row, int64_t *rowid, struct trouble *t)         \
	{                                                                                                              \
		sqlite3_stmt *stmt;                                                                                    \
		int result;                                                                                            \
                                                                                                                       \
		if (db_prepare(db, fact_##table##_sql, &stmt, t) < 0)                                                  \
			return -1;                                                                                     \
		fact_##table##_bind(stmt, row);                                                                        \
		result = db_run(stmt, t);                                                                              \
		sqlite3_finalize(stmt);                                                                                \
		if (result == 0 && rowid)                                                                              \
			*rowid = sqlite3_last_insert_rowid(db);                                                        \
		return result;                                                                                         \
	}

FACT_TABLES(DEFINE)

/* script: statement by statement, because values are bound to each. */
#include "analyzer/script.h"

#include "sql/db.h"
#include "sql/faultpoint.h"

int script_run(sqlite3 *db, const char *sql, int64_t id, struct trouble *t)
{
	while (*sql) {
		sqlite3_stmt *stmt = NULL;
		int result;

		if (FAULT(DB_PREPARE) || sqlite3_prepare_v2(db, sql, -1, &stmt, &sql) != SQLITE_OK)
			return db_trouble(db, t, "prepare");
		if (!stmt) /* nothing but space and comments */
			continue;
		if (sqlite3_bind_parameter_count(stmt) > 0)
			db_bind_int(stmt, 1, id);
		result = db_run(stmt, t);
		sqlite3_finalize(stmt);
		if (result < 0)
			return -1;
	}
	return 0;
}

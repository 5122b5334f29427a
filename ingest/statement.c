/* statement: see statement.h. */
#include "ingest/statement.h"

#include "sql/db.h"

int statement_ints(sqlite3 *db, const char *sql, const int64_t *values, int count, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int result;

	if (db_prepare(db, sql, &stmt, t) < 0)
		return -1;
	if (count > sqlite3_bind_parameter_count(stmt))
		count = sqlite3_bind_parameter_count(stmt);
	for (int i = 0; i < count; i++)
		db_bind_int(stmt, i + 1, values[i]);
	result = db_run(stmt, t);
	sqlite3_finalize(stmt);
	return result;
}

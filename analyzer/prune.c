/* prune: the samples of old runs. */
#include "analyzer/prune.h"

#include "analyzer/script.h"
#include "sql/db.h"
#include "sql_data.h"

int prune_samples(sqlite3 *db, int64_t keep, struct trouble *t)
{
	int result = db_begin(db, t);

	if (result == 0)
		result = script_run(db, sql_queries_prune_samples, keep, t);
	if (result == 0)
		result = db_commit(db, t);
	if (result == 0)
		return 0;
	db_rollback(db);
	script_run(db, sql_queries_prune_clear, keep, NULL);
	return trouble_wrap(t, "remove the samples of earlier runs");
}

int prune_has(sqlite3 *db, int64_t run, struct trouble *t)
{
	sqlite3_stmt *stmt = db_query(db, sql_queries_prune_has, run, t);
	int has = db_step(stmt, t);

	sqlite3_finalize(stmt);
	return has;
}

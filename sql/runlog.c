/* runlog: the row of a run. */
#include "sql/runlog.h"

#include "sql/db.h"
#include "sql/facts.h"
#include "sql_data.h"

int run_begin(const struct run *run, sqlite3 *db, const struct run_begin *begin, int64_t *id, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int result;

	if (db_prepare(db, sql_queries_run_begin, &stmt, t) < 0)
		return -1;
	db_bind_text(stmt, 1, begin->command);
	db_bind_text(stmt, 2, "fencepost " FENCEPOST_VERSION);
	db_bind_text(stmt, 3, begin->config);
	db_bind_text(stmt, 4, begin->config_sha256);
	db_bind_int(stmt, 5, run_now_us(run));
	db_bind_int(stmt, 6, begin->since_us);
	db_bind_int(stmt, 7, begin->all_keys);
	result = db_run(stmt, t);
	sqlite3_finalize(stmt);
	*id = sqlite3_last_insert_rowid(db);
	return result;
}

int run_reached(const struct run *run, sqlite3 *db, const char *reached, bool finished, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int result;

	if (db_prepare(db, sql_queries_run_reached, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, run->id);
	db_bind_text(stmt, 2, reached);
	db_bind_int(stmt, 3, finished ? run_now_us(run) : UNKNOWN);
	result = db_run(stmt, t);
	sqlite3_finalize(stmt);
	return result;
}

int run_stage(const struct run *run, sqlite3 *db, const char *name, int64_t started_us, int64_t duration_us,
	      struct trouble *t)
{
	sqlite3_stmt *stmt;
	int result;

	if (db_prepare(db, sql_queries_run_stage, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, run->id);
	db_bind_text(stmt, 2, name);
	db_bind_int(stmt, 3, started_us);
	db_bind_int(stmt, 4, duration_us);
	result = db_run(stmt, t);
	sqlite3_finalize(stmt);
	return result;
}

int run_trouble(const struct run *run, sqlite3 *db, const struct run_gap *gap, const struct trouble *what,
		struct trouble *t)
{
	struct fact_trouble row = {
		.run_id = run->id,
		.stage = gap->stage,
		.pipeline = gap->pipeline,
		.topic = gap->topic,
		.partition = gap->partition,
		.text = what->text,
	};

	if (gap->topic && gap->partition != UNKNOWN)
		run_note(run, "%s %s/%lld: %s", gap->stage, gap->topic, (long long)gap->partition, what->text);
	else if (gap->topic || gap->pipeline)
		run_note(run, "%s %s: %s", gap->stage, gap->topic ? gap->topic : gap->pipeline, what->text);
	else
		run_note(run, "%s: %s", gap->stage, what->text);
	return fact_trouble_add(db, &row, NULL, t);
}

static int newest(sqlite3 *db, const char *reached, int64_t asked, int64_t *id, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int more;

	if (db_prepare(db, sql_queries_run_newest, &stmt, t) < 0)
		return -1;
	db_bind_text(stmt, 1, reached);
	db_bind_int(stmt, 2, asked);
	more = db_step(stmt, t);
	if (more > 0) {
		*id = db_int(stmt, 0);
		more = *id != UNKNOWN;
	}
	sqlite3_finalize(stmt);
	return more;
}

int run_newest(sqlite3 *db, const char *reached, int64_t *id, struct trouble *t)
{
	return newest(db, reached, UNKNOWN, id, t);
}

int run_has(sqlite3 *db, int64_t id, const char *reached, struct trouble *t)
{
	int64_t same;

	return newest(db, reached, id, &same, t);
}

/* analyzer: fold, then checks, in one transaction. */
#include "analyzer/analyzer.h"

#include <stdbool.h>
#include <string.h>

#include "analyzer/cause.h"
#include "analyzer/check.h"
#include "analyzer/checkfile.h"
#include "analyzer/encoding.h"
#include "analyzer/fold.h"
#include "analyzer/prune.h"
#include "analyzer/script.h"
#include "analyzer/shared.h"
#include "sql/db.h"
#include "sql/runlog.h"
#include "sql_data.h"

static bool is_wanted(const struct analyzer_options *options, const char *name)
{
	if (!options->only)
		return true;
	for (size_t i = 0; i < options->only_count; i++)
		if (strcmp(options->only[i], name) == 0)
			return true;
	return false;
}

static int need_names(const struct analyzer_options *options, const struct checks *checks, struct trouble *t)
{
	for (size_t i = 0; options->only && i < options->only_count; i++) {
		bool known = false;

		for (size_t j = 0; j < checks->n && !known; j++)
			known = strcmp(options->only[i], checks->items[j].name) == 0;
		if (!known)
			return trouble_set(t, "there is no check \"%s\"", options->only[i]);
	}
	return 0;
}

static int need_samples(const struct run *run, sqlite3 *db, struct trouble *t)
{
	int pruned = prune_has(db, run->id, t);

	if (pruned > 0)
		trouble_set(t, "run %lld cannot be checked again: its samples were removed (keep.runs)",
			    (long long)run->id);
	return pruned ? -1 : 0;
}

static int timed(const struct run *run, sqlite3 *db, const char *stage, int64_t wall, int64_t tick, struct trouble *t)
{
	return run_stage(run, db, stage, wall, run_tick_us(run) - tick, t);
}

static int fold(const struct run *run, sqlite3 *db, struct trouble *t)
{
	int64_t wall = run_now_us(run), tick = run_tick_us(run);

	if (fold_run(run, db, t) < 0 || shared_find(run, db, t) < 0 || encoding_find(run, db, t) < 0 ||
	    cause_run(run, db, t) < 0)
		return -1;
	return timed(run, db, "fold", wall, tick, t);
}

static int check_all(const struct run *run, sqlite3 *db, const struct analyzer_options *options,
		     const struct checks *checks, struct trouble *t)
{
	for (size_t i = 0; i < checks->n; i++) {
		if (run_stopped(run))
			return trouble_set(t, "stopped");
		run_progress(run, "check", "checks", (int64_t)i, (int64_t)checks->n);
		if (is_wanted(options, checks->items[i].name) &&
		    check_run(run, db, &checks->items[i], (int64_t)i, t) < 0)
			return -1;
	}
	return 0;
}

static int check(const struct run *run, sqlite3 *db, const struct analyzer_options *options,
		 const struct checks *checks, struct trouble *t)
{
	int64_t wall = run_now_us(run), tick = run_tick_us(run);

	if (script_run(db, sql_queries_check_clear, run->id, t) < 0 ||
	    script_run(db, sql_queries_check_fault, run->id, t) < 0 ||
	    script_run(db, sql_queries_check_split, run->id, t) < 0)
		return trouble_wrap(t, "judge the keys");
	if (script_run(db, sql_queries_check_stream, run->id, t) < 0)
		return trouble_wrap(t, "judge the streams");
	if (script_run(db, sql_queries_check_server, run->id, t) < 0)
		return trouble_wrap(t, "compare the servers");
	if (script_run(db, sql_queries_check_hot, run->id, t) < 0)
		return trouble_wrap(t, "compare the slots");
	if (check_all(run, db, options, checks, t) < 0)
		return -1;
	return timed(run, db, "check", wall, tick, t);
}

static int work(const struct run *run, sqlite3 *db, const struct analyzer_options *options, const struct checks *checks,
		struct trouble *t)
{
	if (db_begin(db, t) < 0)
		return -1;
	if (fold(run, db, t) < 0 || check(run, db, options, checks, t) < 0 ||
	    run_reached(run, db, "checked", false, t) < 0)
		return -1;
	return db_commit(db, t);
}

int analyzer_check(const struct run *run, sqlite3 *db, const struct analyzer_options *options, struct trouble *t)
{
	struct checks checks;
	int result;

	if (need_samples(run, db, t) < 0 || checks_load(options->checks_dir, &checks, t) < 0)
		return -1;
	result = need_names(options, &checks, t);
	if (result == 0)
		result = script_run(db, sql_queries_check_teardown, run->id, t);
	if (result == 0)
		result = work(run, db, options, &checks, t);
	if (result < 0)
		db_rollback(db);
	if (script_run(db, sql_queries_check_teardown, run->id, result < 0 ? NULL : t) < 0)
		result = -1;
	checks_free(&checks);
	return result;
}

int analyzer_prune(sqlite3 *db, int64_t keep, struct trouble *t)
{
	return prune_samples(db, keep, t);
}

int analyzer_checks(const char *checks_dir, void (*show)(void *context, const struct check_text *check), void *context,
		    struct trouble *t)
{
	struct checks checks;

	if (checks_load(checks_dir, &checks, t) < 0)
		return -1;
	for (size_t i = 0; i < checks.n; i++) {
		const struct check *c = &checks.items[i];
		struct check_text text = {
			c->name, c->severity, c->title, c->claim, c->unverifiable, c->remedy, c->sql
		};

		show(context, &text);
	}
	checks_free(&checks);
	return 0;
}

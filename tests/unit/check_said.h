/*
 * check_said: runs the checks over a world, and tells what they said.
 */
#ifndef TESTS_UNIT_CHECK_SAID_H
#define TESTS_UNIT_CHECK_SAID_H

#include "analyzer/analyzer.h"

#include "check_spoils.h"

static const char SAID[] =
	"SELECT line FROM ("
	"SELECT ordinal, 0 AS part, 0 AS sub, name || ' ! ' || trouble AS line FROM check_result WHERE run_id = ?1 AND "
	"status = 'error' "
	"UNION ALL "
	"SELECT c.ordinal, 1, f.ordinal, f.name || ' ' || f.severity || ' ' || coalesce(f.topic, '-') || '/' || "
	"coalesce(f.partition, '-') || '@' "
	"|| coalesce(f.offset, '-') || ' ' || coalesce(key_text(f.key), '-') || ': ' || f.detail "
	"FROM finding AS f JOIN check_result AS c ON c.run_id = f.run_id AND c.pipeline = f.pipeline AND c.name = "
	"f.name WHERE f.run_id = ?1 "
	"UNION ALL "
	"SELECT c.ordinal, 2, row_number() OVER (ORDER BY u.reason), u.name || ' ? ' || u.reason || ' ' || u.subjects "
	"FROM unverifiable AS u JOIN check_result AS c ON c.run_id = u.run_id AND c.pipeline = u.pipeline AND c.name = "
	"u.name WHERE u.run_id = ?1"
	") ORDER BY ordinal, part, sub";

/* All lines, each with a newline. The caller frees. */
static inline char *said(struct fixture *fx)
{
	struct trouble t = { 0 };
	char *all = xstrdup("");
	sqlite3_stmt *stmt;
	int more;

	must(db_prepare(fx->db, SAID, &stmt, &t), &t);
	db_bind_int(stmt, 1, fx->run.id);
	while ((more = db_step(stmt, &t)) > 0) {
		char *longer = xprintf("%s%s\n", all, (const char *)sqlite3_column_text(stmt, 0));

		free(all);
		all = longer;
	}
	must(more, &t);
	sqlite3_finalize(stmt);
	return all;
}

static inline void analyze(struct fixture *fx)
{
	struct trouble t = { 0 };

	must(analyzer_check(&fx->run, fx->db, &(struct analyzer_options){ 0 }, &t), &t);
}

/* A fixture with one run of a world, analyzed. */
static inline void run_world(struct fixture *fx, void (*make)(struct world *), void (*spoil)(struct world *))
{
	struct world *w = world_new();

	name_keys();
	make(w);
	spoil(w);
	fixture_open(fx);
	fixture_add(fx, w);
	analyze(fx);
	world_free(w);
}

static inline char *text_of(struct fixture *fx, const char *sql)
{
	struct trouble t = { 0 };
	sqlite3_stmt *stmt;
	char *text;

	must(db_prepare(fx->db, sql, &stmt, &t), &t);
	must(db_step(stmt, &t), &t);
	text = db_text_dup(stmt, 0);
	sqlite3_finalize(stmt);
	return text;
}

static inline void assert_text(struct fixture *fx, const char *sql, const char *want)
{
	char *got = text_of(fx, sql);

	assert_string_equal(got ? got : "NULL", want);
	free(got);
}

#endif

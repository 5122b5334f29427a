/* An index in memory for the tests of the reports, filled by SQL. */
#ifndef TESTS_UNIT_REPORT_FIXTURE_H
#define TESTS_UNIT_REPORT_FIXTURE_H

#include <stdatomic.h>

#include "sql/db.h"
#include "sql/functions.h"
#include "sql/record.h"
#include "sql/run.h"
#include "sql_data.h"

static atomic_int report_stop;

static int64_t report_clock(void *context)
{
	(void)context;
	return INT64_C(1796005800000000);
}

static const struct run report_run = {
	.id = 1, .wall_us = report_clock, .tick_us = report_clock, .stop = &report_stop
};

/* One clean run, 1, of one pipeline, orders, with one check. */
static const char report_clean[] =
	"INSERT INTO run (run_id, command, tool, config, config_sha256, started_us, reached)"
	" VALUES (1, 'audit', 'fencepost', 'f.yaml', 'c0', 1796005800000000, 'checked');"
	"INSERT INTO stage VALUES (1, 'replay', 1796005800000000, 2000000), (1, 'report', 1796005802000000, 99);"
	"INSERT INTO pipeline (run_id, name, mapping_sha256, kafka, state, tombstones, isolation, horizon, from_kind, "
	"rejects, recent_ms)"
	" VALUES (1, 'orders', 'm', 'k', 'opaque', 'apply', 'read_committed', 'committed', 'beginning', 'none', "
	"600000);"
	"INSERT INTO check_result (run_id, pipeline, name, ordinal, severity, title, status, examined)"
	" VALUES (1, 'orders', 'fence-regressed', 5, 'error', 'a title', 'pass', 4);";

static sqlite3 *report_index(const char *sql)
{
	struct trouble t = { 0 };
	sqlite3 *db;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(functions_register(db), SQLITE_OK);
	assert_int_equal(vtabs_register(db), SQLITE_OK);
	for (const struct sql_file *file = sql_schema_files; file->name; file++)
		assert_int_equal(db_script(db, file->text, &t), 0);
	if (db_script(db, sql, &t) < 0)
		fail_msg("%s", t.text);
	return db;
}

#endif

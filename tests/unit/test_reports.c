/*
 * Reports: words, bounds, files, the status of a run, and what a query may do. The formats are held by
 * tests/e2e/test_reports.py.
 */
#include "reports/reports.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zstd.h>

#include "reports/bound.h"
#include "reports/outfile.h"
#include "reports/rows.h"
#include "reports/summary.h"
#include "reports/words.h"
#include "report_fixture.h"

/*
 * --- words and bounds -----------------------------------------------------------------------------------------------

 */

static void test_numbers(void **state)
{
	static const struct {
		int64_t number;
		const char *text;
	} rows[] = {
		{ 0, "0" },
		{ 999, "999" },
		{ 1000, "1,000" },
		{ -1, "-1" },
		{ -1284, "-1,284" },
		{ 61204331, "61,204,331" },
		{ INT64_MAX, "9,223,372,036,854,775,807" },
		{ INT64_MIN + 1, "-9,223,372,036,854,775,807" },
		{ UNKNOWN, "unknown" },
	};
	char text[WORDS_ROOM + 24];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(words_number(rows[i].number, text), rows[i].text);
	assert_string_equal(words_count(1, "record", "records", text), "1 record");
	assert_string_equal(words_count(0, "record", "records", text), "0 records");
	assert_string_equal(words_count(2031, "record", "records", text), "2,031 records");
}

static void test_percents(void **state)
{
	char text[WORDS_ROOM];

	(void)state;
	assert_string_equal(words_percent(1000000, 9812204, text), "10.2 %");
	assert_string_equal(words_percent(0, 7, text), "0.0 %");
	assert_string_equal(words_percent(7, 7, text), "100 %");
	assert_string_equal(words_percent(9999, 10000, text), "99.9 %");
	assert_string_equal(words_percent(1, 100000, text), "less than 0.1 %");
	assert_string_equal(words_percent(1, UNKNOWN, text), "unknown share");
	assert_string_equal(words_percent(1, 0, text), "unknown share");
}

static void test_times(void **state)
{
	char text[WORDS_ROOM];

	(void)state;
	assert_string_equal(words_time(0, text), "1970-01-01T00:00:00.000000Z");
	assert_string_equal(words_time(-1, text), "1969-12-31T23:59:59.999999Z");
	assert_string_equal(words_time(INT64_C(1709164800123456), text), "2024-02-29T00:00:00.123456Z");
	assert_string_equal(words_time(INT64_C(253402300799999999), text), "9999-12-31T23:59:59.999999Z");
	assert_string_equal(words_time(INT64_C(-62167219200000000), text), "0000-01-01T00:00:00.000000Z");
	assert_string_equal(words_time(INT64_MAX, text), "9999-12-31T23:59:59.999999Z");
	assert_string_equal(words_time(INT64_MIN, text), "0000-01-01T00:00:00.000000Z");
}

static void test_safe_and_shell(void **state)
{
	char *text = words_safe("a\\b\x1b[2J\n\xff");

	(void)state;
	assert_string_equal(text, "a\\b\\x1b[2J\\n\\xff");
	free(text);
	text = words_shell("reports/42");
	assert_string_equal(text, "reports/42");
	free(text);
	text = words_shell("it's; rm -rf");
	assert_string_equal(text, "'it'\\''s; rm -rf'");
	free(text);
	text = words_shell("");
	assert_string_equal(text, "''");
	free(text);
}

/*
 * The exact values are from sums of binomial terms by bisection in another language; 1 - 0.05^(1/59) is the textbook's
 * 95/95 rule.
 */
static void test_bounds(void **state)
{
	static const struct {
		int64_t bad, keys, ppb;
	} rows[] = {
		{ 0, 1, 950000000 },  { 0, 59, 49507610 },  { 0, 1000000, 2996 },  { 1, 10, 394163303 },
		{ 2, 37, 160542168 }, { 3, 20, 343663805 }, { 5, 100, 102253378 }, { 1, 1000, 4734994 },
		{ 0, 0, 1000000000 }, { 7, 7, 1000000000 }, { 9, 7, 1000000000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(bound_95_ppb(rows[i].bad, rows[i].keys), rows[i].ppb);
	for (int64_t n = 1; n < 3000; n++) {
		assert_true(bound_95_ppb(0, n + 1) <= bound_95_ppb(0, n));
		assert_true(bound_95_ppb(n / 3, n) >= n / 3 * 1000000000 / n);
	}
	assert_in_range(bound_95_ppb(500000, 1000000), 500820000, 500830000); /* 0.5 + 1.645 * 0.0005 */
}

/*
 * --- files ----------------------------------------------------------------------------------------------------------

 */

static char *temporary_directory(void)
{
	char name[] = "/tmp/fencepost-reports-XXXXXX";

	assert_non_null(mkdtemp(name));
	return strdup(name);
}

static size_t read_file(const char *path, char *bytes, size_t room)
{
	FILE *file = fopen(path, "rb");
	size_t size;

	assert_non_null(file);
	size = fread(bytes, 1, room, file);
	fclose(file);
	return size;
}

static void test_outfile(void **state)
{
	char *directory = temporary_directory(), path[64], packed[4096], content[400000];
	struct outfile_sum sum;
	struct trouble t = { 0 };
	struct outfile *out;

	(void)state;
	snprintf(path, sizeof(path), "%s/f.zst", directory);
	out = outfile_open(path, OUTFILE_ZSTD, &t);
	assert_non_null(out);
	assert_int_equal(access(path, F_OK), -1);
	for (int i = 0; i < 100000; i++)
		outfile_text(out, "abc");
	assert_int_equal(outfile_commit(out, &sum, &t), 0);
	assert_int_equal(sum.content_bytes, 300000);
	assert_int_equal(sum.bytes, read_file(path, packed, sizeof(packed)));
	assert_int_equal(ZSTD_decompress(content, sizeof(content), packed, (size_t)sum.bytes), 300000);
	/* printf 'abc%.0s' $(seq 100000) | sha256sum */
	assert_string_equal(sum.content_sha256, "a77aedfe2e4a7232ea628a71745a966224c4521d93134b993cde5b65ea2f6e3c");
	unlink(path);
	assert_int_equal(rmdir(directory), 0);
	free(directory);
}

static void test_outfile_known_hash_and_abandon(void **state)
{
	char *directory = temporary_directory(), path[64], content[8];
	struct outfile_sum sum;
	struct trouble t = { 0 };
	struct outfile *out;

	(void)state;
	snprintf(path, sizeof(path), "%s/f", directory);
	out = outfile_open(path, OUTFILE_PLAIN, &t);
	outfile_format(out, "%s", "abc");
	assert_int_equal(outfile_commit(out, &sum, &t), 0);
	assert_string_equal(sum.sha256,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"); /* FIPS 180-2, B.1 */
	assert_string_equal(sum.content_sha256, sum.sha256);
	out = outfile_open(path, OUTFILE_PLAIN, &t);
	outfile_text(out, "half");
	outfile_abandon(out);
	assert_int_equal(read_file(path, content, sizeof(content)), 3);
	unlink(path);
	assert_int_equal(rmdir(directory), 0); /* nothing else is left */
	free(directory);
}

static void test_outfile_trouble(void **state)
{
	struct trouble t = { 0 };

	(void)state;
	assert_null(outfile_open("/nowhere/at/all", OUTFILE_ZSTD, &t));
	assert_non_null(strstr(t.text, "/nowhere/at/all: create: No such file or directory"));
}

/*
 * --- status ---------------------------------------------------------------------------------------------------------

 */

static const struct {
	const char *sql, *status;
	bool complete;
} statuses[] = {
	{ "", "clean", true },
	{ "UPDATE run SET reached = 'reported'", "clean", true },
	{ "UPDATE run SET reached = 'sampled'", "incomplete", false },
	{ "UPDATE check_result SET status = 'error'", "incomplete", false },
	{ "UPDATE check_result SET examined = 0", "incomplete", false },
	{ "UPDATE check_result SET examined = 0; UPDATE pipeline SET expect_empty = 1", "clean", true },
	{ "UPDATE check_result SET examined = 0, status = 'skip'; UPDATE pipeline SET expect_empty = 1", "clean",
	  true },
	{ "DELETE FROM check_result", "incomplete", false },
	{ "DELETE FROM check_result; DELETE FROM pipeline", "incomplete", false },
	{ "INSERT INTO trouble (run_id, stage, text) VALUES (1, 'replay', 'x')", "incomplete", false },
	{ "INSERT INTO trouble (run_id, stage, text) VALUES (2, 'replay', 'of another run')", "clean", true },
	{ "UPDATE check_result SET findings = 1", "findings", true },
	{ "UPDATE check_result SET findings = 1, severity = 'warning'", "findings", true },
	{ "UPDATE check_result SET findings = 1, severity = 'info'", "clean", true },
	{ "UPDATE check_result SET findings = 1, severity = 'warning'; INSERT INTO setting VALUES (1, 'fail.on', "
	  "'error')",
	  "clean", true },
	{ "UPDATE check_result SET findings = 1, severity = 'info'; INSERT INTO setting VALUES (1, 'fail.on', 'info')",
	  "findings", true },
	{ "UPDATE check_result SET findings = 1; INSERT INTO trouble (run_id, stage, text) VALUES (1, 'replay', 'x')",
	  "findings", false },
	{ "UPDATE check_result SET findings = 1, examined = 0, status = 'error'", "findings", false },
	{ "UPDATE check_result SET pipeline = 'stream'; UPDATE pipeline SET expect_empty = 1", "clean", true },
	{ "UPDATE check_result SET pipeline = 'stream', findings = 1; UPDATE pipeline SET expect_empty = 1", "findings",
	  true },
	{ "INSERT INTO unverifiable VALUES (1, 'orders', 'fence-regressed', 'gap', 4)", "clean", true },
};

static void test_status(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
		struct trouble t = { 0 };
		struct report_result result;
		sqlite3 *db = report_index(report_clean);

		assert_int_equal(db_script(db, statuses[i].sql, &t), 0);
		assert_int_equal(reports_status(&report_run, db, &result, &t), 0);
		if (strcmp(report_status_word(result.status), statuses[i].status) != 0 ||
		    result.complete != statuses[i].complete)
			fail_msg("row %zu: %s, %s", i, report_status_word(result.status),
				 result.complete ? "complete" : "incomplete");
		sqlite3_close(db);
	}
}

static void test_no_such_run(void **state)
{
	sqlite3 *db = report_index("");
	struct report_result result;
	struct trouble t = { 0 };

	(void)state;
	assert_int_equal(reports_status(&report_run, db, &result, &t), -1);
	assert_string_equal(t.text, "summary of run 1: the index has no run 1");
	sqlite3_close(db);
}

static void test_the_report_stage_is_no_part_of_the_report(void **state)
{
	sqlite3 *db = report_index(report_clean);
	struct trouble t = { 0 };
	json_t *summary = summary_build(db, 1, &t), *times = json_object_get(summary, "times");

	(void)state;
	assert_string_equal(json_text(times, "finished"), "2026-11-30T02:30:02.000000Z");
	assert_int_equal(json_array_size(json_object_get(times, "stages")), 1);
	json_decref(summary);
	sqlite3_close(db);
}

/*
 * --- queries --------------------------------------------------------------------------------------------------------

 */

/* What the query prints, or its trouble. The caller frees. */
static char *query(sqlite3 *db, const char *sql, bool json)
{
	struct trouble t = { 0 };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int result = reports_query(&report_run, db, sql, json, out, &t);

	fclose(out);
	if (result == 0)
		return text;
	free(text);
	return strdup(t.text);
}

static void test_query(void **state)
{
	static const struct {
		const char *sql, *text, *json;
	} rows[] = {
		{ "SELECT 1 AS a, NULL AS b", "a\tb\n1\tNULL\n", "{\"a\":1,\"b\":null}\n" },
		{ "SELECT x'00ff' AS a, 1.5 AS b;", "a\tb\nx'00ff'\t1.5\n", "{\"a\":\"x'00ff'\",\"b\":1.5}\n" },
		{ "SELECT 'a' || char(9, 10) AS a", "a\na\\t\\n\n", "{\"a\":\"a\\t\\n\"}\n" },
		{ "SELECT 1 AS a WHERE 0", "a\n", "" },
		{ "SELECT 9e999 AS a", "a\nInf\n", "{\"a\":\"Infinity\"}\n" },
		{ "SELECT 1 AS a, 2 AS a, 3 AS a", "a\ta\ta\n1\t2\t3\n", "{\"a\":1,\"a:2\":2,\"a:3\":3}\n" },
		{ "DELETE FROM run", "query: only reading is allowed: not authorized", NULL },
		{ "ATTACH ':memory:' AS x", "query: only reading is allowed: not authorized", NULL },
		{ "SELECT 1; DELETE FROM run", "query: one statement at a time", NULL },
		{ "-- nothing", "query: there is none", NULL },
	};
	sqlite3 *db = report_index(report_clean);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *text = query(db, rows[i].sql, false), *json = query(db, rows[i].sql, true);

		assert_string_equal(text, rows[i].text);
		assert_string_equal(json, rows[i].json ? rows[i].json : rows[i].text);
		free(text);
		free(json);
	}
	assert_int_equal(sqlite3_exec(db, "DELETE FROM check_result", NULL, NULL, NULL),
			 SQLITE_OK); /* the authorizer is gone */
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_percents),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_safe_and_shell),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_outfile),
		cmocka_unit_test(test_outfile_known_hash_and_abandon),
		cmocka_unit_test(test_outfile_trouble),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_no_such_run),
		cmocka_unit_test(test_the_report_stage_is_no_part_of_the_report),
		cmocka_unit_test(test_query),
	};

	return cmocka_run_group_tests_name("reports", tests, NULL, NULL);
}

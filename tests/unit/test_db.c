/* A query over rows, and one that cannot be asked. */
#include "sql/db.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "sql/run.h"

static sqlite3 *open_db(void)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	return db;
}

static void test_rows_of_an_id(void **state)
{
	sqlite3 *db = open_db();
	struct trouble t = { 0 };
	sqlite3_stmt *rows = db_query(db, "VALUES (?1), (?1 + ?2)", INT64_C(1) << 40, &t);

	(void)state;
	db_bind_int(rows, 2, 3);
	assert_int_equal(db_step(rows, &t), 1);
	assert_int_equal(db_int(rows, 0), INT64_C(1) << 40);
	assert_int_equal(db_step(rows, &t), 1);
	assert_int_equal(db_int(rows, 0), (INT64_C(1) << 40) + 3);
	assert_int_equal(db_step(rows, &t), 0);
	sqlite3_finalize(rows);
	sqlite3_close(db);
}

static void test_an_unknown_id(void **state)
{
	sqlite3 *db = open_db();
	struct trouble t = { 0 };
	sqlite3_stmt *rows = db_query(db, "SELECT ?1 IS NULL", UNKNOWN, &t);

	(void)state;
	assert_int_equal(db_step(rows, &t), 1);
	assert_int_equal(db_int(rows, 0), 1);
	sqlite3_finalize(rows);
	sqlite3_close(db);
}

/* It can be bound to, stepped and finalized as any; the words are those of the first trouble. */
static void test_a_query_that_cannot_be_asked(void **state)
{
	sqlite3 *db = open_db();
	struct trouble t = { 0 };
	sqlite3_stmt *rows = db_query(db, "SELECT 1 FROM gone WHERE id = ?1", 1, &t);

	(void)state;
	assert_null(rows);
	db_bind_int(rows, 2, 3);
	db_bind_int(rows, 2, UNKNOWN);
	db_bind_text(rows, 3, "text");
	db_bind_blob(rows, 4, "bytes", 5);
	assert_int_equal(db_step(rows, &t), -1);
	assert_string_equal(t.text, "prepare: index in memory: no such table: gone (SQLite code 1)");
	sqlite3_finalize(rows);
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_of_an_id),
		cmocka_unit_test(test_an_unknown_id),
		cmocka_unit_test(test_a_query_that_cannot_be_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The writer: order, the bound, transactions, and what happens after trouble. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sql/db.h"
#include "sql/mem.h"
#include "sql/writer.h"

static int64_t tick(void *context)
{
	(void)context;
	return 0;
}

static const atomic_int never;
static const struct run run = { .wall_us = tick, .tick_us = tick, .stop = &never };
static atomic_int freed;

struct job {
	int64_t number;
	bool bad;
};

static const char insert[] = "INSERT INTO seen VALUES (?1)";

static int apply(struct writer *writer, void *argument, struct trouble *t)
{
	const struct job *job = argument;
	sqlite3_stmt *stmt = writer_statement(writer, insert, t);

	if (!stmt)
		return -1;
	assert_ptr_equal(stmt, writer_statement(writer, insert, t));
	db_bind_int(stmt, 1, job->number);
	if (db_run(stmt, t) < 0)
		return -1;
	return job->bad ? trouble_set(t, "job %lld is bad", (long long)job->number) : 0;
}

static void done(void *job)
{
	atomic_fetch_add(&freed, 1);
	free(job);
}

static int push(struct writer *w, int64_t number, bool bad, size_t bytes)
{
	struct job *job = xalloc(sizeof(*job));

	*job = (struct job){ .number = number, .bad = bad };
	return writer_push(w, apply, done, job, bytes);
}

static sqlite3 *open_memory(void)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(db_script(db, "CREATE TABLE seen (number INTEGER UNIQUE)", NULL), 0);
	atomic_store(&freed, 0);
	return db;
}

static int64_t ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt;
	int64_t answer;

	assert_int_equal(db_prepare(db, sql, &stmt, NULL), 0);
	assert_int_equal(db_step(stmt, NULL), 1);
	answer = db_int(stmt, 0);
	sqlite3_finalize(stmt);
	return answer;
}

static void test_order(void **state)
{
	sqlite3 *db = open_memory();
	struct writer *w = writer_start(&run, db);

	(void)state;
	for (int64_t i = 0; i < 1000; i++)
		assert_int_equal(push(w, i, false, 100), 0);
	assert_int_equal(writer_stop(w, NULL), 0);
	assert_int_equal(atomic_load(&freed), 1000);
	assert_int_equal(ask(db, "SELECT count(*) FROM seen"), 1000);
	assert_int_equal(ask(db, "SELECT count(*) FROM seen WHERE number = rowid - 1"), 1000);
	assert_int_equal(sqlite3_get_autocommit(db), 1);
	sqlite3_close(db);
}

static void test_nothing_to_do(void **state)
{
	sqlite3 *db = open_memory();
	struct writer *w = writer_start(&run, db);

	(void)state;
	assert_int_equal(writer_stop(w, NULL), 0);
	sqlite3_close(db);
}

struct producer {
	struct writer *w;
	int64_t from;
};

static void *produce(void *argument)
{
	const struct producer *p = argument;

	for (int64_t i = 0; i < 200; i++)
		push(p->w, p->from + i, false, 3 << 20); /* a few fill the queue */
	return NULL;
}

static void test_many_producers_and_a_full_queue(void **state)
{
	sqlite3 *db = open_memory();
	struct writer *w = writer_start(&run, db);
	struct producer producers[4];
	pthread_t threads[4];

	(void)state;
	for (int i = 0; i < 4; i++) {
		producers[i] = (struct producer){ w, 1000 * i };
		assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
	}
	assert_int_equal(push(w, 5000, false, 100 << 20), 0); /* larger than the queue */
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(writer_stop(w, NULL), 0);
	assert_int_equal(ask(db, "SELECT count(*) FROM seen"), 801);
	assert_int_equal(atomic_load(&freed), 801);
	sqlite3_close(db);
}

static void test_trouble_drops_the_rest(void **state)
{
	sqlite3 *db = open_memory();
	struct writer *w = writer_start(&run, db);
	struct trouble t = { "" };
	int pushed = 0;

	(void)state;
	for (int64_t i = 0; i < 64; i++) /* one whole commit */
		assert_int_equal(push(w, i, false, 100), 0);
	push(w, 64, false, 100);
	push(w, 65, true, 100);
	for (int64_t i = 66; i < 100000 && push(w, i, false, 1 << 20) == 0; i++)
		pushed++;
	assert_true(pushed < 99934); /* the queue was bounded, so the failure was seen */
	assert_int_equal(push(w, 7, true, 1), -1);
	assert_int_equal(writer_stop(w, &t), -1);
	assert_string_equal(t.text, "job 65 is bad");
	assert_int_equal(atomic_load(&freed), 66 + pushed + 2);
	assert_int_equal(ask(db, "SELECT count(*) FROM seen"), 64);
	sqlite3_close(db);
}

static void test_trouble_of_sqlite(void **state)
{
	sqlite3 *db = open_memory();
	struct writer *w = writer_start(&run, db);
	struct trouble t = { "" };

	(void)state;
	push(w, 1, false, 1);
	push(w, 1, false, 1);
	assert_int_equal(writer_stop(w, &t), -1);
	assert_non_null(strstr(t.text, "UNIQUE constraint failed: seen.number"));
	assert_int_equal(ask(db, "SELECT count(*) FROM seen"), 0);
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_nothing_to_do),
		cmocka_unit_test(test_many_producers_and_a_full_queue),
		cmocka_unit_test(test_trouble_drops_the_rest),
		cmocka_unit_test(test_trouble_of_sqlite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

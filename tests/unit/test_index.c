/* The index: made, opened again, locked, and every file that must be refused, in the words that the operator reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sql_data.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sql/db.h"
#include "sql/index.h"
#include "sql/mem.h"

static atomic_int stop;

static int64_t tick(void *context) /* a clock that runs when it is looked at */
{
	return *(int64_t *)context += 1000000;
}

static int64_t clock_us;
static const struct run run = { .wall_us = tick, .tick_us = tick, .stop = &stop, .context = &clock_us };

static char folder[] = "/tmp/fencepost-index-XXXXXX";
static char path[sizeof(folder) + 16];
static struct trouble t;

static int before(void **state)
{
	(void)state;
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	snprintf(path, sizeof(path), "%s/a.db", mkdtemp(folder));
	t.text[0] = 0;
	atomic_store(&stop, 0);
	return 0;
}

static int after(void **state)
{
	static const char *const names[] = { "a.db", "a.db.lock", "a.db-journal", "link.db", "none.db.lock" };
	char name[sizeof(folder) + 32];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(name, sizeof(name), "%s/%s", folder, names[i]);
		remove(name);
	}
	return rmdir(folder);
}

static enum index_open open_write(struct index *index)
{
	return index_open_write(&run, path, 0, index, &t);
}

static void make(void)
{
	struct index index;

	assert_int_equal(open_write(&index), INDEX_OPEN);
	index_close(&index);
}

static int64_t ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt;
	int64_t answer;

	assert_int_equal(db_prepare(db, sql, &stmt, &t), 0);
	assert_int_equal(db_step(stmt, &t), 1);
	answer = db_int(stmt, 0);
	sqlite3_finalize(stmt);
	return answer;
}

static void change(const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(db_script(db, sql, &t), 0);
	sqlite3_close(db);
}

/* Both ways of opening say these words, after "index PATH: ". */
static void refused(const char *words)
{
	char *want = xprintf("index %s: %s", path, words);
	struct index index;

	t.text[0] = 0;
	assert_int_equal(open_write(&index), INDEX_TROUBLE);
	assert_string_equal(t.text, want);
	assert_null(index.db);
	t.text[0] = 0;
	assert_int_equal(index_open_read(&run, path, &index, &t), INDEX_TROUBLE);
	assert_string_equal(t.text, want);
	assert_null(index.db);
	free(want);
}

static void test_new(void **state)
{
	struct index index;

	(void)state;
	assert_int_equal(open_write(&index), INDEX_OPEN);
	assert_int_equal(ask(index.db, "PRAGMA page_size"), 16384);
	assert_int_equal(ask(index.db, "PRAGMA application_id"), INDEX_APPLICATION_ID);
	assert_true(ask(index.db, "PRAGMA user_version") >= 1);
	assert_int_equal(ask(index.db, "PRAGMA synchronous"), 2);
	assert_int_equal(ask(index.db, "SELECT journal_mode = 'truncate' FROM pragma_journal_mode"), 1);
	assert_int_equal(ask(index.db, "SELECT count(*) FROM chunk"), 0);
	assert_int_equal(ask(index.db, "SELECT murmur2('')"), 275646681);
	index_close(&index);
	index_close(&index);
	assert_int_equal(open_write(&index), INDEX_OPEN); /* again, as it is */
	index_close(&index);
}

static void test_second_writer(void **state)
{
	struct index first, second;

	(void)state;
	assert_int_equal(open_write(&first), INDEX_OPEN);
	assert_int_equal(open_write(&second), INDEX_BUSY);
	assert_non_null(strstr(t.text, "another process writes it"));
	assert_int_equal(index_open_write(&run, path, 100, &second, &t), INDEX_BUSY);
	assert_int_equal(index_open_read(&run, path, &second, &t), INDEX_OPEN);
	assert_int_equal(ask(second.db, "SELECT count(*) FROM run"), 0);
	index_close(&second);
	index_close(&first);
	assert_int_equal(open_write(&second), INDEX_OPEN);
	index_close(&second);
}

static void test_second_writer_by_a_link(void **state)
{
	char link_path[sizeof(path) + 8];
	struct index first, second;

	(void)state;
	make();
	snprintf(link_path, sizeof(link_path), "%s/link.db", folder);
	assert_int_equal(symlink(path, link_path), 0);
	assert_int_equal(open_write(&first), INDEX_OPEN);
	assert_int_equal(index_open_write(&run, link_path, 0, &second, &t), INDEX_BUSY);
	index_close(&first);
}

static void test_reading_does_not_write(void **state)
{
	struct index index;

	(void)state;
	make();
	assert_int_equal(index_open_read(&run, path, &index, &t), INDEX_OPEN);
	assert_int_equal(db_script(index.db, "DELETE FROM run", &t), -1);
	index_close(&index);
}

static void test_missing(void **state)
{
	struct index index;
	char none[sizeof(path) + 16];

	(void)state;
	snprintf(none, sizeof(none), "%s/none.db", folder);
	assert_int_equal(index_open_read(&run, none, &index, &t), INDEX_TROUBLE);
	assert_non_null(strstr(t.text, "none.db: there is none; an audit makes it"));
	assert_int_not_equal(access(none, F_OK), 0);
	snprintf(none, sizeof(none), "%s/no/none.db", folder);
	assert_int_equal(index_open_write(&run, none, 0, &index, &t), INDEX_TROUBLE);
	assert_non_null(strstr(t.text, "cannot open its lock"));
	assert_non_null(strstr(t.text, "No such file or directory"));
}

static void test_a_folder(void **state)
{
	struct index index;

	(void)state;
	mkdir(path, 0755);
	assert_int_equal(open_write(&index), INDEX_TROUBLE);
	assert_non_null(strstr(t.text, "not a file"));
	assert_int_equal(index_open_read(&run, path, &index, &t), INDEX_TROUBLE);
	assert_non_null(strstr(t.text, "not a file"));
}

static void test_not_readable(void **state)
{
	struct index index;

	(void)state;
	make();
	chmod(path, 0);
	if (!geteuid())
		return; /* the superuser reads all */
	assert_int_equal(open_write(&index), INDEX_TROUBLE);
	assert_non_null(strstr(t.text, "cannot open it: Permission denied"));
	assert_int_equal(index_open_read(&run, path, &index, &t), INDEX_TROUBLE);
	assert_non_null(strstr(t.text, "cannot open it: Permission denied"));
}

static void write_text(const char *text, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), (ssize_t)size);
	close(fd);
}

static void test_not_a_database(void **state)
{
	static const char text[4096] = "kafka:\n  bootstrap.servers: localhost:9092\n";

	(void)state;
	write_text(text, sizeof(text));
	refused("not a fencepost index (not an SQLite database)");
}

static void test_empty_file(void **state)
{
	struct index index;

	(void)state;
	write_text("", 0);
	assert_int_equal(index_open_read(&run, path, &index, &t), INDEX_TROUBLE);
	assert_non_null(strstr(t.text, "empty; an audit fills it"));
	make();
	assert_int_equal(index_open_read(&run, path, &index, &t), INDEX_OPEN);
	index_close(&index);
}

static void test_another_database(void **state)
{
	(void)state;
	change("CREATE TABLE a (b)");
	refused("an SQLite database, but not a fencepost index");
	change("PRAGMA application_id = 77");
	refused("an SQLite database, but not a fencepost index");
}

static void test_newer(void **state)
{
	(void)state;
	make();
	change("PRAGMA user_version = 1000000");
	refused("version 1000000 is newer than this program, which writes 3");
}

/* A migration that fails leaves the file as it was. */
static void test_failed_migration(void **state)
{
	struct index index;

	(void)state;
	make();
	change("PRAGMA user_version = 0; DROP TABLE finding");
	assert_int_equal(open_write(&index), INDEX_TROUBLE);
	assert_non_null(strstr(t.text, "make the index: schema 001-facts: run script: "));
	assert_non_null(strstr(t.text, "table run already exists"));
	assert_int_equal(index_open_read(&run, path, &index, &t), INDEX_TROUBLE);
	assert_non_null(strstr(t.text, "a.db: version 0 is older than this program; the next audit brings it to 3"));
	change("DROP TABLE check_result"); /* still there, and finding is still gone */
	change("CREATE TABLE finding (a)");
}

/* An index of version 1, with a run, a server and a pipeline in it, is brought to the newest; nothing in it is lost. */
static void test_migration(void **state)
{
	struct index index;
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	for (const struct sql_file *file = sql_schema_files; file->name; file++)
		if (strncmp(file->name, "001-", 4) == 0)
			assert_int_equal(db_script(db, file->text, &t), 0);
	assert_int_equal(db_script(db,
				   "PRAGMA application_id = 0x66706f73; PRAGMA user_version = 1;"
				   "INSERT INTO run (run_id, command, tool, config, config_sha256, started_us) "
				   "VALUES (1, 'audit', 'f', 'c', 's', 5);"
				   "INSERT INTO redis_server (run_id, address, read_us) VALUES (1, 'h:1/0', 6)",
				   &t),
			 0);
	sqlite3_close(db);
	assert_int_equal(open_write(&index), 0);
	assert_int_equal(ask(index.db, "PRAGMA user_version"), 3);
	assert_int_equal(ask(index.db, "SELECT read_us FROM redis_server WHERE server_us IS NULL"), 6);
	assert_int_equal(ask(index.db, "SELECT count(*) FROM scope WHERE scope = 'redis/h:1'"), 1);
	index_close(&index);
}

static void test_truncated(void **state)
{
	struct stat st;
	char words[100];

	(void)state;
	make();
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size - 1), 0);
	snprintf(words, sizeof(words), "truncated: it has %lld of %lld bytes", (long long)st.st_size - 1,
		 (long long)st.st_size);
	refused(words);
	assert_int_equal(truncate(path, 20000), 0);
	snprintf(words, sizeof(words), "truncated: it has 20000 of %lld bytes", (long long)st.st_size);
	refused(words);
}

static void test_damaged(void **state)
{
	char zeros[16384] = "";
	struct index index;
	int fd;

	(void)state;
	make();
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, zeros, 8192, 100), 8192); /* the first page's table, not the header */
	close(fd);
	assert_int_equal(open_write(&index), INDEX_TROUBLE);
	assert_non_null(strstr(t.text, "a.db: damaged: "));
	assert_int_equal(index_open_read(&run, path, &index, &t), INDEX_TROUBLE);
	assert_non_null(strstr(t.text, "a.db: damaged: "));
}

/* A process that dies in the middle of a commit, with its pages partly in the file. */
static void die_writing(void)
{
	struct index index;

	if (open_write(&index) != INDEX_OPEN)
		_exit(1);
	db_script(index.db,
		  "PRAGMA cache_size = 10; BEGIN IMMEDIATE;"
		  "CREATE TABLE filler (a); WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000)"
		  "INSERT INTO filler SELECT randomblob(20000) FROM n;",
		  NULL);
	_exit(0);
}

static void test_killed_writer(void **state)
{
	char journal[sizeof(path) + 8];
	struct index index;
	struct stat st;
	int status;
	pid_t pid;

	(void)state;
	make();
	pid = fork();
	if (!pid)
		die_writing();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	snprintf(journal, sizeof(journal), "%s-journal", path);
	assert_int_equal(stat(journal, &st), 0);
	assert_true(st.st_size > 0);
	assert_int_equal(index_open_read(&run, path, &index, &t), INDEX_OPEN);
	assert_int_equal(ask(index.db, "SELECT count(*) FROM sqlite_schema WHERE name = 'filler'"), 0);
	index_close(&index);
	assert_int_equal(open_write(&index), INDEX_OPEN);
	index_close(&index);
}

static void test_readers_are_waited_for(void **state)
{
	struct index writer, reader;
	sqlite3_stmt *stmt;

	(void)state;
	make();
	assert_int_equal(open_write(&writer), INDEX_OPEN);
	assert_int_equal(index_open_read(&run, path, &reader, &t), INDEX_OPEN);
	assert_int_equal(db_script(writer.db, "CREATE TABLE two (a); INSERT INTO two VALUES (1), (2)", &t), 0);
	assert_int_equal(db_prepare(reader.db, "SELECT a FROM two", &stmt, &t), 0);
	assert_int_equal(db_step(stmt, &t), 1); /* a reader in the middle */
	atomic_store(&stop, 1);
	clock_us = 0;
	assert_int_equal(db_script(writer.db, "DELETE FROM two", &t), -1);
	assert_true(clock_us >= 5000000);
	assert_non_null(strstr(t.text, "locked"));
	sqlite3_finalize(stmt);
	assert_int_equal(db_script(writer.db, "DELETE FROM two", &t), 0);
	index_close(&reader);
	index_close(&writer);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)
	const struct CMUnitTest tests[] = {
		TEST(test_new),
		TEST(test_second_writer),
		TEST(test_second_writer_by_a_link),
		TEST(test_reading_does_not_write),
		TEST(test_missing),
		TEST(test_not_readable),
		TEST(test_not_a_database),
		TEST(test_empty_file),
		TEST(test_another_database),
		TEST(test_newer),
		TEST(test_failed_migration),
		TEST(test_migration),
		TEST(test_truncated),
		TEST(test_damaged),
		TEST(test_killed_writer),
		TEST(test_readers_are_waited_for),
		TEST(test_a_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

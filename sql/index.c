/* index: opening the file, and refusing what must not be opened. */
#include "sql/index.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sql/db.h"
#include "sql/faultpoint.h"
#include "sql/functions.h"
#include "sql/mem.h"
#include "sql/record.h"
#include "sql_data.h"

enum { WRITER_PATIENCE_S = 600, READER_PATIENCE_S = 60, WRITER_GRACE_S = 5 };

/* --- waiting ----------------------------------------------------------------------------------------------------- */

struct patience {
	const struct run *run;
	int64_t limit_us, stopped_us; /* how long to wait; how long once the run is stopped */
	int64_t begun_us;
};

static void nap(long ms)
{
	struct timespec span = { .tv_sec = 0, .tv_nsec = ms * 1000000 };

	nanosleep(&span, NULL);
}

/* SQLite's busy handler: 1 try again, 0 give up. */
static int wait_for_others(void *context, int tries)
{
	struct patience *p = context;
	int64_t now = run_tick_us(p->run);

	if (!tries)
		p->begun_us = now;
	if (now - p->begun_us >= (run_stopped(p->run) ? p->stopped_us : p->limit_us))
		return 0;
	nap(tries < 6 ? 1 << tries : 50);
	return 1;
}

/* --- the lock of writers ----------------------------------------------------------------------------------------- */

/* The lock lies beside the file itself, so that links to it share one lock. */
static char *lock_path(const char *path)
{
	char *real = realpath(path, NULL);
	char *name = xprintf("%s.lock", real ? real : path);

	free(real);
	return name;
}

static enum index_open wait_for_lock(const struct run *run, const char *path, int64_t wait_ms, int lock)
{
	int64_t begun = run_tick_us(run);
	bool told = false;

	while (FAULT(INDEX_LOCK) || flock(lock, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return INDEX_TROUBLE;
		if (run_stopped(run) || run_tick_us(run) - begun >= wait_ms * 1000)
			return INDEX_BUSY;
		if (!told)
			run_note(run, "waiting for the other process that writes index %s", path);
		told = true;
		nap(50);
	}
	return INDEX_OPEN;
}

static enum index_open take_lock(const struct run *run, const char *path, int64_t wait_ms, int *lock, struct trouble *t)
{
	char *name = lock_path(path);
	enum index_open result = INDEX_TROUBLE;

	*lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (*lock < 0)
		trouble_set(t, "index %s: cannot open its lock %s: %s", path, name, strerror(errno));
	else
		result = wait_for_lock(run, path, wait_ms, *lock);
	if (result == INDEX_BUSY)
		trouble_set(t, "index %s: another process writes it (it holds %s)", path, name);
	else if (result == INDEX_TROUBLE && *lock >= 0)
		trouble_set(t, "index %s: cannot lock %s: %s", path, name, strerror(errno));
	free(name);
	return result;
}

/* --- what the file is -------------------------------------------------------------------------------------------- */

/*
 * Says in words what the operating system has against the file; one that is not there is well where may_be_new. Without
 * opening it: closing a file drops all locks that the process has on it.
 */
static int check_file(const char *path, int mode, bool may_be_new, struct trouble *t)
{
	struct stat st;

	if (stat(path, &st) < 0 && errno == ENOENT)
		return may_be_new ? 0 : trouble_set(t, "index %s: there is none; an audit makes it", path);
	if (faccessat(AT_FDCWD, path, mode, AT_EACCESS) < 0)
		return trouble_set(t, "index %s: cannot open it: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return trouble_set(t, "index %s: not a file", path);
	if (!st.st_size && !may_be_new)
		return trouble_set(t, "index %s: empty; an audit fills it", path);
	return 0;
}

/* The file must be as long as its header says: https://www.sqlite.org/fileformat.html, sections 1.3.2 and 1.3.7. */
static int check_size(sqlite3 *db, const char *path, struct trouble *t)
{
	sqlite3_file *file = NULL;
	uint8_t header[100];
	sqlite3_int64 want, have;
	uint16_t page;
	uint32_t pages;

	sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
	if (!file || !file->pMethods || file->pMethods->xRead(file, header, sizeof(header), 0) != SQLITE_OK ||
	    file->pMethods->xFileSize(file, &have) != SQLITE_OK)
		return 0; /* a new file; what cannot be read shows elsewhere */
	memcpy(&page, header + 16, sizeof(page));
	memcpy(&pages, header + 28, sizeof(pages));
	want = (sqlite3_int64)be32toh(pages) * (be16toh(page) == 1 ? 65536 : be16toh(page));
	if (memcmp(header + 24, header + 92, 4) || have >= want) /* the page count may be of an older writer */
		return 0;
	return trouble_set(t, "index %s: truncated: it has %lld of %lld bytes", path, have, want);
}

/* Words for an error of SQLite on a file that could not be read as an index. Always -1. */
static int refuse(sqlite3 *db, const char *path, struct trouble *t)
{
	switch (sqlite3_errcode(db)) {
	case SQLITE_NOTADB:
		return trouble_set(t, "index %s: not a fencepost index (not an SQLite database)", path);
	case SQLITE_CORRUPT:
		if (check_size(db, path, t) < 0)
			return -1;
		return trouble_set(t, "index %s: damaged: %s", path, sqlite3_errmsg(db));
	default:
		return trouble_set(t, "index %s: %s (SQLite code %d)", path, sqlite3_errmsg(db),
				   sqlite3_extended_errcode(db));
	}
}

/* What a header says; the first read also rolls back what a killed writer left. */
struct state {
	int64_t application_id, version, tables;
};

static int read_state(sqlite3 *db, const char *path, struct state *state, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int more = -1;

	if (sqlite3_prepare_v2(db, sql_queries_index_state, -1, &stmt, NULL) == SQLITE_OK)
		more = db_step(stmt, t);
	if (more < 0) {
		sqlite3_finalize(stmt);
		return refuse(db, path, t);
	}
	*state = (struct state){ db_int(stmt, 0), db_int(stmt, 1), db_int(stmt, 2) };
	more = check_size(db, path, t); /* while the statement keeps writers out */
	sqlite3_finalize(stmt);
	return more;
}

/* The number that a schema file of that name brings the index to: "001-facts" is 1. */
static int64_t file_version(const struct sql_file *file)
{
	return strtol(file->name, NULL, 10);
}

static int64_t newest_version(void)
{
	int64_t newest = 0;

	for (const struct sql_file *file = sql_schema_files; file->name; file++) {
		if (file_version(file) > newest)
			newest = file_version(file);
	}
	return newest;
}

/* Whether the state is that of an index this program can use. is_new: nothing is in the file yet. */
static int check_state(const struct state *s, const char *path, bool *is_new, struct trouble *t)
{
	*is_new = !s->application_id && !s->version && !s->tables;
	if (*is_new)
		return 0;
	if (s->application_id != INDEX_APPLICATION_ID)
		return trouble_set(t, "index %s: an SQLite database, but not a fencepost index", path);
	if (s->version > newest_version())
		return trouble_set(t, "index %s: version %lld is newer than this program, which writes %lld", path,
				   (long long)s->version, (long long)newest_version());
	return 0;
}

/* --- schema ------------------------------------------------------------------------------------------------------ */

/* A pragma takes no bound values; the number is ours. */
static int set_version(sqlite3 *db, int64_t version, struct trouble *t)
{
	char *sql = xprintf("PRAGMA user_version = %lld", (long long)version);
	int result = db_script(db, sql, t);

	free(sql);
	return result;
}

static int run_schema(sqlite3 *db, int64_t from, struct trouble *t)
{
	for (const struct sql_file *file = sql_schema_files; file->name; file++) {
		if (file_version(file) <= from)
			continue;
		if (db_script(db, file->text, t) < 0)
			return trouble_wrap(t, "schema %s", file->name);
	}
	if (db_script(db, sql_queries_index_mark, t) < 0)
		return -1;
	return set_version(db, newest_version(), t);
}

static int migrate(sqlite3 *db, int64_t from, struct trouble *t)
{
	if (from == newest_version())
		return 0;
	if (db_begin(db, t) < 0)
		return -1;
	if (run_schema(db, from, t) < 0 || db_commit(db, t) < 0) {
		db_rollback(db);
		return -1;
	}
	return 0;
}

/* --- opening ----------------------------------------------------------------------------------------------------- */

static int set_up(sqlite3 *db, const char *path, struct trouble *t)
{
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (functions_register(db) == SQLITE_OK && vtabs_register(db) == SQLITE_OK)
		return 0;
	return trouble_set(t, "index %s: cannot register functions: %s", path, sqlite3_errmsg(db));
}

static int connect(const struct run *run, const char *path, bool write, struct index *index, struct trouble *t)
{
	/* Whoever hands the connection to another thread keeps away from it meanwhile: see sql/writer.h, analyzer/feed.h. */
	int flags = SQLITE_OPEN_NOMUTEX |
		    (write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
	struct patience *p = xalloc(sizeof(*p));

	*p = (struct patience){
		.run = run,
		.limit_us = (write ? WRITER_PATIENCE_S : READER_PATIENCE_S) * INT64_C(1000000),
		.stopped_us = (write ? WRITER_GRACE_S : 0) * INT64_C(1000000),
	};
	index->patience = p;
	if (sqlite3_open_v2(path, &index->db, flags, NULL) != SQLITE_OK)
		return refuse(index->db, path, t);
	sqlite3_busy_handler(index->db, wait_for_others, p);
	return set_up(index->db, path, t);
}

static int prepare_write(const struct run *run, const char *path, struct index *index, struct trouble *t)
{
	struct state state;
	bool is_new;

	if (check_file(path, R_OK | W_OK, true, t) < 0 || connect(run, path, true, index, t) < 0 ||
	    read_state(index->db, path, &state, t) < 0 || check_state(&state, path, &is_new, t) < 0)
		return -1;
	if (is_new && db_script(index->db, sql_queries_index_new, t) < 0)
		return -1;
	if (db_script(index->db, sql_queries_index_write, t) < 0)
		return -1;
	if (migrate(index->db, state.version, t) < 0)
		return trouble_wrap(t, "make the index");
	return 0;
}

enum index_open index_open_write(const struct run *run, const char *path, int64_t wait_ms, struct index *index,
				 struct trouble *t)
{
	enum index_open result;

	*index = (struct index){ .lock = -1 };
	result = take_lock(run, path, wait_ms, &index->lock, t);
	if (result == INDEX_OPEN && prepare_write(run, path, index, t) < 0)
		result = INDEX_TROUBLE;
	if (result != INDEX_OPEN)
		index_close(index);
	return result;
}

/*
 * A writer that was killed leaves a journal, which a read-only connection cannot play back. A trouble shows at the next
 * read.
 */
static void play_back(const char *path)
{
	sqlite3 *db;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK)
		sqlite3_exec(db, sql_queries_index_state, NULL, NULL, NULL);
	sqlite3_close(db);
}

static int prepare_read(const struct run *run, const char *path, struct index *index, struct trouble *t)
{
	struct state state;
	bool is_new;

	if (check_file(path, R_OK, false, t) < 0 || connect(run, path, false, index, t) < 0)
		return -1;
	if (read_state(index->db, path, &state, t) < 0) {
		if (sqlite3_extended_errcode(index->db) != SQLITE_READONLY_ROLLBACK)
			return -1;
		play_back(path);
		if (read_state(index->db, path, &state, t) < 0)
			return -1;
	}
	if (check_state(&state, path, &is_new, t) < 0)
		return -1;
	if (is_new)
		return trouble_set(t, "index %s: empty; an audit fills it", path);
	if (state.version < newest_version())
		return trouble_set(
			t, "index %s: version %lld is older than this program; the next audit brings it to %lld", path,
			(long long)state.version, (long long)newest_version());
	return db_script(index->db, sql_queries_index_read, t);
}

enum index_open index_open_read(const struct run *run, const char *path, struct index *index, struct trouble *t)
{
	*index = (struct index){ .lock = -1 };
	if (prepare_read(run, path, index, t) == 0)
		return INDEX_OPEN;
	index_close(index);
	return INDEX_TROUBLE;
}

void index_close(struct index *index)
{
	sqlite3_close_v2(index->db);
	free(index->patience);
	if (index->lock >= 0)
		close(index->lock);
	*index = (struct index){ .lock = -1 };
}

/* writer: the queue, the thread, and when it commits. */
#include "sql/writer.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sql/db.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"

enum {
	QUEUE_BYTES = 32 << 20, /* jobs that wait; one that is larger waits alone */
	COMMIT_BYTES = 64 << 20,
	COMMIT_JOBS = 64,
	COMMIT_US = 1000000,
};

struct entry {
	struct entry *next;
	writer_apply *apply;
	void (*done)(void *job);
	void *job;
	size_t bytes;
};

struct kept_statement {
	const char *sql;
	sqlite3_stmt *stmt;
};

struct writer {
	const struct run *run;
	sqlite3 *db;
	pthread_t thread;
	pthread_mutex_t mutex; /* guards the next seven */
	pthread_cond_t room;   /* signalled when queued falls, and on failure */
	struct entry *head, **tail;
	size_t queued; /* bytes, the job being applied included */
	bool stopping, failed;
	struct trouble trouble; /* the first, where failed */
	int wake;		/* eventfd: something was pushed to an empty queue, or stopping was set */
	/* the thread's own */
	bool open;	    /* a transaction */
	size_t jobs, bytes; /* in the transaction */
	int64_t begun_us;
	struct kept_statement *statements;
	size_t statement_count;
};

/* --- producers --------------------------------------------------------------------------------------------------- */

static void wake(struct writer *w)
{
	eventfd_write(w->wake, 1); /* waits, never fails, should the counter ever be full */
}

int writer_push(struct writer *w, writer_apply *apply, void (*done)(void *job), void *job, size_t bytes)
{
	struct entry *entry = xalloc(sizeof(*entry));
	bool failed, first;

	*entry = (struct entry){ .apply = apply, .done = done, .job = job, .bytes = bytes };
	pthread_mutex_lock(&w->mutex);
	while (!w->failed && w->queued && w->queued + bytes > QUEUE_BYTES)
		pthread_cond_wait(&w->room, &w->mutex);
	failed = w->failed;
	first = !w->head;
	if (!failed) {
		*w->tail = entry;
		w->tail = &entry->next;
		w->queued += bytes;
	}
	pthread_mutex_unlock(&w->mutex);
	if (failed) {
		done(job);
		free(entry);
		return -1;
	}
	if (first)
		wake(w);
	return 0;
}

/* --- the thread -------------------------------------------------------------------------------------------------- */

static struct entry *take(struct writer *w, bool *stopping)
{
	struct entry *entry;

	pthread_mutex_lock(&w->mutex);
	entry = w->head;
	if (entry)
		w->head = entry->next;
	if (!w->head)
		w->tail = &w->head;
	*stopping = w->stopping;
	pthread_mutex_unlock(&w->mutex);
	return entry;
}

static void finish(struct writer *w, struct entry *entry)
{
	entry->done(entry->job);
	pthread_mutex_lock(&w->mutex);
	w->queued -= entry->bytes;
	pthread_cond_broadcast(&w->room);
	pthread_mutex_unlock(&w->mutex);
	free(entry);
}

static void fail(struct writer *w, const struct trouble *t)
{
	db_rollback(w->db);
	w->open = false;
	pthread_mutex_lock(&w->mutex);
	w->failed = true;
	w->trouble = *t;
	pthread_cond_broadcast(&w->room);
	pthread_mutex_unlock(&w->mutex);
}

static int begin(struct writer *w, struct trouble *t)
{
	if (w->open)
		return 0;
	if (db_begin(w->db, t) < 0)
		return -1;
	w->open = true;
	w->jobs = w->bytes = 0;
	w->begun_us = run_tick_us(w->run);
	return 0;
}

static int commit(struct writer *w, struct trouble *t)
{
	if (!w->open)
		return 0;
	if (FAULT(WRITER_COMMIT))
		return db_trouble(w->db, t, "commit");
	if (db_commit(w->db, t) < 0)
		return -1;
	w->open = false;
	return 0;
}

static int apply(struct writer *w, struct entry *entry, struct trouble *t)
{
	if (begin(w, t) < 0 || entry->apply(w, entry->job, t) < 0)
		return -1;
	if (FAULT(WRITER_JOB))
		return db_trouble(w->db, t, "write");
	w->jobs++;
	w->bytes += entry->bytes;
	if (w->jobs < COMMIT_JOBS && w->bytes < COMMIT_BYTES && run_tick_us(w->run) - w->begun_us < COMMIT_US)
		return 0;
	return commit(w, t);
}

/* Until something is pushed, or the open transaction is due. */
static int wait_for_work(struct writer *w, struct trouble *t)
{
	struct pollfd fd = { .fd = w->wake, .events = POLLIN };
	int64_t left_us = w->open ? COMMIT_US - (run_tick_us(w->run) - w->begun_us) : 0;
	int timeout_ms = !w->open ? -1 : left_us > 0 ? (int)(left_us / 1000 + 1) : 0;
	eventfd_t count;

	if (poll(&fd, 1, timeout_ms) > 0) {
		eventfd_read(w->wake, &count);
		return 0;
	}
	return commit(w, t);
}

static void *write_all(void *argument)
{
	struct writer *w = argument;
	struct trouble t = { "" };
	bool stopping = false;

	for (;;) {
		struct entry *entry = take(w, &stopping);
		int result = 0;

		if (entry && !w->failed)
			result = apply(w, entry, &t);
		else if (!entry && stopping)
			break;
		else if (!entry)
			result = wait_for_work(w, &t);
		if (result < 0)
			fail(w, &t);
		if (entry)
			finish(w, entry);
	}
	if (!w->failed && commit(w, &t) < 0)
		fail(w, &t);
	return NULL;
}

/* --- from the outside -------------------------------------------------------------------------------------------- */

struct writer *writer_start(const struct run *run, sqlite3 *db)
{
	struct writer *w = xalloc(sizeof(*w));

	w->run = run;
	w->db = db;
	w->tail = &w->head;
	pthread_mutex_init(&w->mutex, NULL);
	pthread_cond_init(&w->room, NULL);
	w->wake = eventfd(0, EFD_CLOEXEC);
	if (w->wake < 0 || pthread_create(&w->thread, NULL, write_all, w))
		xneed(NULL); /* no descriptor or thread left: as good as out of memory */
	return w;
}

int writer_stop(struct writer *w, struct trouble *t)
{
	int result = 0;

	pthread_mutex_lock(&w->mutex);
	w->stopping = true;
	pthread_mutex_unlock(&w->mutex);
	wake(w);
	pthread_join(w->thread, NULL);
	for (size_t i = 0; i < w->statement_count; i++)
		sqlite3_finalize(w->statements[i].stmt);
	if (w->failed)
		result = trouble_set(t, "%s", w->trouble.text);
	close(w->wake);
	pthread_cond_destroy(&w->room);
	pthread_mutex_destroy(&w->mutex);
	free(w->statements);
	free(w);
	return result;
}

sqlite3_stmt *writer_statement(struct writer *w, const char *sql, struct trouble *t)
{
	struct kept_statement kept = { .sql = sql };

	for (size_t i = 0; i < w->statement_count; i++) {
		if (w->statements[i].sql == sql)
			return w->statements[i].stmt;
	}
	if (db_prepare(w->db, sql, &kept.stmt, t) < 0)
		return NULL;
	w->statements = xgrow(w->statements, w->statement_count + 1, sizeof(*w->statements));
	w->statements[w->statement_count++] = kept;
	return kept.stmt;
}

/*
 * writer: the one thread that owns the index's connection while sources run. Producers push jobs from any thread; the
 * queue is bounded by bytes, so a producer that is too fast waits. Commits every 64 chunks, 64 MiB or second,
 * whichever comes first; what one job writes is in one transaction. After the first trouble all further jobs are
 * dropped and writer_push says so.
 */
#ifndef SQL_WRITER_H
#define SQL_WRITER_H

#include <sqlite3.h>
#include <stddef.h>

#include "sql/run.h"
#include "sql/trouble.h"

struct writer;

/* What the writer does with one job, on its thread, inside a transaction. 0 or -1. */
typedef int writer_apply(struct writer *writer, void *job, struct trouble *t);

/* Starts the thread. From here to writer_stop nobody else may touch db. */
struct writer *writer_start(const struct run *run, sqlite3 *db);

/*
 * Queues a job. bytes is its weight in memory (for the bound and the commit policy); apply runs once, then done(job)
 * frees it. done is called in every case, also after trouble. 0, or -1 when the writer has failed (the words come
 * from writer_stop).
 */
int writer_push(struct writer *writer, writer_apply *apply, void (*done)(void *job), void *job, size_t bytes);

/* Waits until the queue is empty, commits, joins, frees. 0, or -1 with the first trouble. */
int writer_stop(struct writer *writer, struct trouble *t);

/*
 * Lets apply functions keep prepared statements: finds or prepares sql (compared by address); the writer finalizes it
 * at the end.
 */
sqlite3_stmt *writer_statement(struct writer *writer, const char *sql, struct trouble *t);

#endif

/*
 * index: the one SQLite file that outlives runs. Opening for writing takes an advisory lock on FILE.lock (a second
 * writer is refused), creates or migrates the schema, and refuses what is no index, a newer one, or a damaged one, in
 * words that name the file.
 */
#ifndef SQL_INDEX_H
#define SQL_INDEX_H

#include <sqlite3.h>
#include <stdint.h>

#include "sql/run.h"
#include "sql/trouble.h"

enum index_open {
	INDEX_OPEN,    /* opened */
	INDEX_BUSY,    /* another writer holds it: exit 75 */
	INDEX_TROUBLE, /* anything else */
};

/* Header field application_id: "fpos". */
#define INDEX_APPLICATION_ID 0x66706f73

struct index {
	sqlite3 *db;
	int lock;       /* file descriptor, -1 for a reader */
	void *patience; /* what the connection's busy handler knows */
};

/*
 * Opens for reading and writing, waiting at most wait_ms for another writer to finish. run->id need not be set yet; run
 * must outlive the index. The connection waits up to ten minutes for readers of the file that are in the way of a
 * commit, five seconds once the run is stopped.
 */
enum index_open index_open_write(const struct run *run, const char *path, int64_t wait_ms, struct index *index,
				 struct trouble *t);

/*
 * Opens an existing index read-only; works while a writer runs, and waits up to a minute for its commits. Not once the
 * run is stopped.
 */
enum index_open index_open_read(const struct run *run, const char *path, struct index *index, struct trouble *t);

/* Closes; safe on a zeroed struct with lock -1. */
void index_close(struct index *index);

#endif

/*
 * resume: which incarnation of a topic the index goes on with, and from where. Before it goes on, the newest
 * indexed records are compared with what the broker now has there (anchor.h); where they differ, or the end has
 * fallen, the old incarnation ends and a new one begins with the common prefix (rewrite.h).
 */
#ifndef INGEST_RESUME_H
#define INGEST_RESUME_H

#include <sqlite3.h>
#include <stddef.h>

#include "ingest/replay.h"
#include "ingest/source.h"

/*
 * Topics come with description, parts, log starts and ends. Gives each incarnation_id, and first, next and gap of
 * its parts; a partition whose log start is not known and that the index does not have stays UNKNOWN. 0, or -1: the
 * index.
 */
int resume_topics(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topics, size_t count,
		  struct trouble *t);

/*
 * Rows for the parts that the index does not have yet, and holes where the log start has passed next. 0, or -1: the
 * index.
 */
int resume_parts(const struct run *run, sqlite3 *db, struct topic_history *topic, struct trouble *t);

#endif

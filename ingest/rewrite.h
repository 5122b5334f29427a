/*
 * rewrite: another history was found. The old incarnation ends; a new one begins with the records that both have,
 * and facts say what was seen.
 */
#ifndef INGEST_REWRITE_H
#define INGEST_REWRITE_H

#include <sqlite3.h>

#include "ingest/anchor.h"
#include "ingest/replay.h"

/*
 * Inside the caller's transaction. topic comes with the old incarnation and gets the new one; its parts move back
 * to what is common, those without anything in common become UNKNOWN. 0, or -1: the index.
 */
int rewrite_topic(const struct run *run, const char *cluster, sqlite3 *db, struct topic_history *topic,
		  const struct divergences *found, struct trouble *t);

#endif

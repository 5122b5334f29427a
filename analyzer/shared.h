/*
 * shared: sampled keys that share their Redis key with another record key. A schema id stands before the key and not
 * in the Redis key (sql/keyformat.h), so the keys of two schema ids meet in one fence: it stands on a record of either,
 * and a state counts both. Nothing can be said against such a fence from the records of one of them.
 */
#ifndef ANALYZER_SHARED_H
#define ANALYZER_SHARED_H

#include <sqlite3.h>

#include "sql/run.h"
#include "sql/trouble.h"

/*
 * Fills table shared_key for the topics of run run->id, once they are folded: another record key with the same text is
 * anywhere in the history, aborted records and earlier incarnations included. Topics whose key.format has no prefix
 * cost nothing, and those of one schema id one pass over the keys. The caller holds the transaction. 0 or -1.
 */
int shared_find(const struct run *run, sqlite3 *db, struct trouble *t);

#endif

/* statement: one statement whose values are integers, run once. */
#ifndef INGEST_STATEMENT_H
#define INGEST_STATEMENT_H

#include <sqlite3.h>
#include <stdint.h>

#include "sql/trouble.h"

/*
 * Binds values to ?1 ... in order and runs sql, which gives no rows. Values beyond the statement's own are ignored.
 * 0 or -1.
 */
int statement_ints(sqlite3 *db, const char *sql, const int64_t *values, int count, struct trouble *t);

#endif

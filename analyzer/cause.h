/*
 * cause: why the records that stand off home do: what attribute says of each topic's off_home_key, and what needs no
 * statistics (stale records, empty keys) or can have none. Fills the tables of sql/schema/003-causes.sql.
 */
#ifndef ANALYZER_CAUSE_H
#define ANALYZER_CAUSE_H

#include <sqlite3.h>

#include "sql/run.h"
#include "sql/trouble.h"

/* After the fold of the run, in its transaction. 0 or -1. */
int cause_run(const struct run *run, sqlite3 *db, struct trouble *t);

#endif

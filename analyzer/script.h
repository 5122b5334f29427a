/*
 * script: several statements in one SQL file, run one after another with the same value.
 */
#ifndef ANALYZER_SCRIPT_H
#define ANALYZER_SCRIPT_H

#include <sqlite3.h>
#include <stdint.h>

#include "sql/trouble.h"

/* Runs each statement of sql with its first parameter, where it has one, bound to id. Rows are passed over. 0 or -1. */
int script_run(sqlite3 *db, const char *sql, int64_t id, struct trouble *t);

#endif

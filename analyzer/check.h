/*
 * check: runs checks over a folded run and writes down what they say.
 */
#ifndef ANALYZER_CHECK_H
#define ANALYZER_CHECK_H

#include <sqlite3.h>

#include "analyzer/checkfile.h"
#include "sql/run.h"
#include "sql/trouble.h"

/*
 * Runs one check: rows in check_result, unverifiable and finding for every scope of the run that is of the check's
 * subject. ordinal is its place
 * among the checks. A check that fails leaves status error, its words, a row in trouble, and nothing else of its own.
 * 0, or -1 where the index cannot be written.
 */
int check_run(const struct run *run, sqlite3 *db, const struct check *check, int64_t ordinal, struct trouble *t);

#endif

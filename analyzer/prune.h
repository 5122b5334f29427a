/*
 * prune: the samples of old runs, a hundred bytes a key and run, which nothing reads any more. Findings, results and
 * the counts that reports tell stay.
 */
#ifndef ANALYZER_PRUNE_H
#define ANALYZER_PRUNE_H

#include <sqlite3.h>
#include <stdint.h>

#include "sql/trouble.h"

/*
 * Of each pipeline and topic, keeps the samples of the newest keep >= 2 runs that sampled all of it and were checked,
 * and of what came after them. In a transaction of its own. 0, or -1 with nothing removed.
 */
int prune_samples(sqlite3 *db, int64_t keep, struct trouble *t);

/* Whether samples of the run were removed, so that it cannot be checked again: 1, 0, -1. */
int prune_has(sqlite3 *db, int64_t run, struct trouble *t);

#endif

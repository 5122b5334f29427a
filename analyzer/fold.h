/*
 * fold: history and fences -> what history demands of each sampled key. One pass over the history of each topic,
 * partition by partition, with the sampled keys in memory.
 *
 *     topic (facts) -> feed (a thread: chunks, placed, ahead) -> fold_stream (fold_find, fold_take, fence_at)
 *                   -> fold_write (tables of sql/schema/001-fold.sql)
 *
 * Memory is bounded by run->memory. Where the sample does not fit, its threshold halves and topic.main_threshold (or
 * recent_threshold) says so.
 */
#ifndef ANALYZER_FOLD_H
#define ANALYZER_FOLD_H

#include <sqlite3.h>

#include "sql/run.h"
#include "sql/trouble.h"

/* Replaces the fold of the pipelines of run run->id. The caller holds the transaction. 0 or -1. */
int fold_run(const struct run *run, sqlite3 *db, struct trouble *t);

#endif

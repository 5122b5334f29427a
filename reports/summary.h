/*
 * summary: everything a report says of a run but the findings themselves, as one JSON value: summary.json. Text and
 * metrics are made from it, so that they cannot disagree. docs/reports.md lists the fields.
 */
#ifndef REPORTS_SUMMARY_H
#define REPORTS_SUMMARY_H

#include <jansson.h>
#include <sqlite3.h>

#include "reports/reports.h"
#include "sql/trouble.h"

/* How summary.json and manifest.json are written. */
#define SUMMARY_JSON (JSON_INDENT(2) | JSON_ENSURE_ASCII)

/* The summary of a run of the index; NULL with trouble. The caller owns it. */
json_t *summary_build(sqlite3 *db, int64_t run, struct trouble *t);

/*
 * The blocks of a summary one after another: pipelines, streams, servers. *at begins at 0 and moves on; NULL: there are
 * no more. Borrowed.
 */
const json_t *summary_block(const json_t *summary, size_t *at);

/* What it says at the top. */
struct report_result summary_result(const json_t *summary);

/* 1 where everything the run should look at was looked at, 0 where not, -1. */
int summary_complete(sqlite3 *db, int64_t run, struct trouble *t);

/* "clean", "findings", "incomplete" */
const char *report_status_word(enum report_status status);

/* Whether a check of this severity decides the status of this summary's run (fail.on). */
bool summary_counts(const json_t *summary, const char *severity);

#endif

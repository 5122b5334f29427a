/*
 * reports: what the index knows of a checked run -> files and text. Of the index they write the table report alone
 * (which manifest a run's report had), and they look at no clock but for that table's written_us, so that a report can
 * be repeated byte for byte. docs/reports.md describes the formats.
 */
#ifndef REPORTS_REPORTS_H
#define REPORTS_REPORTS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

#include "sql/run.h"
#include "sql/trouble.h"

enum report_status { REPORT_CLEAN, REPORT_FINDINGS, REPORT_INCOMPLETE };

struct report_result {
	enum report_status status; /* findings win over incomplete */
	bool complete;             /* false: something could not be looked at */
};

/*
 * Writes the report directory of run run->id: under a temporary name beside dir, flushed to the disk, then renamed.
 * Parents are created. dir must not exist, be empty, or be an earlier report of the same run, which is then replaced.
 * 0, or -1 with dir as it was before.
 */
int reports_write(const struct run *run, sqlite3 *db, const char *dir, struct report_result *result, struct trouble *t);

/* The status alone. */
int reports_status(const struct run *run, sqlite3 *db, struct report_result *result, struct trouble *t);

/*
 * The text blocks of DESIGN section 10, or summary.json where json is set, to out. Write errors of out are the caller's
 * to check.
 */
int reports_print(const struct run *run, sqlite3 *db, bool json, FILE *out, struct trouble *t);

/*
 * What a run that ends before its checks has looked at, a block a pipeline or as json its summary, to out: 1 where
 * nothing was missed, 0 where something was (it is in the text) or there is no pipeline, or -1. Write errors of out are
 * the caller's to check.
 */
int reports_looked(const struct run *run, sqlite3 *db, bool json, FILE *out, struct trouble *t);

/*
 * metrics.prom alone, to a file (temp name, rename). run->id may be a run that did not finish. failed: something after
 * the checks went wrong, so that the run is not complete whatever the index says.
 */
int reports_metrics(const struct run *run, sqlite3 *db, bool failed, const char *file, struct trouble *t);

/*
 * The same for a run that failed before it had an index: it was incomplete, and nothing else is claimed. config is the
 * file as named.
 */
int reports_metrics_failed(const struct run *run, const char *config, const char *file, struct trouble *t);

/*
 * The rows of one statement that reads, to out. As text: a header line, then cells between tabs, each in its text form
 * (sql/keytext.h), blobs as x'6b31', NULL as NULL. As json: one object a line, blobs as text "x'6b31'". What writes,
 * attaches or changes settings is refused. 0 or -1; write errors of out are the caller's to check.
 */
int reports_query(const struct run *run, sqlite3 *db, const char *sql, bool json, FILE *out, struct trouble *t);

/* The runs of the index, the oldest first: a table, or as json one object a line. */
int reports_runs(const struct run *run, sqlite3 *db, bool json, FILE *out, struct trouble *t);

#endif

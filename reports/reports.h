/*
 * reports: what the index knows of a checked run -> files and text. Reads the index only, so that a report can be repeated byte for byte.
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
	enum report_status status;  /* findings win over incomplete */
	bool complete;              /* false: something could not be looked at */
};

/* Writes the report directory of run run->id (temp names, fsync, rename of the whole directory). dir must not exist, or be an earlier report of the same run. */
int reports_write(const struct run *run, sqlite3 *db, const char *dir, struct report_result *result, struct trouble *t);

/* The status alone. */
int reports_status(const struct run *run, sqlite3 *db, struct report_result *result, struct trouble *t);

/* The text blocks of DESIGN section 10, or summary.json where json is set, to out. Write errors of out are the caller's to check. */
int reports_print(const struct run *run, sqlite3 *db, bool json, FILE *out, struct trouble *t);

/*
 * For a run that only replayed or sampled: a few lines of what was looked at (partitions and records; keys) and every trouble, to out.
 * 1 everything was looked at, 0 something was not, -1.
 */
int reports_looked(const struct run *run, sqlite3 *db, FILE *out, struct trouble *t);

/* metrics.prom alone, to a file (temp name, rename). run->id may be a run that did not finish. */
int reports_metrics(const struct run *run, sqlite3 *db, const char *file, struct trouble *t);

#endif

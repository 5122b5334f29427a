/*
 * findings: the findings of a run as lines of JSON and as CSV, in the order of checks, pipelines and the checks' own
 * order; one pass, flat memory.
 *
 * CSV is RFC 4180 with a header line and lines that end in CR LF. No cell has a line break: text is in its text form
 * (sql/keytext.h). A text cell that a spreadsheet would take for a formula (it begins with = + - @), or that begins
 * with an apostrophe, gets an apostrophe in front; take one away to read it.
 */
#ifndef REPORTS_FINDINGS_H
#define REPORTS_FINDINGS_H

#include <sqlite3.h>
#include <stdint.h>

#include "reports/outfile.h"
#include "sql/trouble.h"

/* Writes all findings of the run to both files. 0 or -1. */
int findings_write(sqlite3 *db, int64_t run, struct outfile *jsonl, struct outfile *csv, struct trouble *t);

#endif

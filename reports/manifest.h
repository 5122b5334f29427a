/*
 * manifest: what a report directory holds, by SHA-256, and the manifest of the report before it, so that reports form a
 * chain: a file that was changed, or a report that was taken out, shows.
 */
#ifndef REPORTS_MANIFEST_H
#define REPORTS_MANIFEST_H

#include <jansson.h>
#include <sqlite3.h>

#include "reports/outfile.h"
#include "sql/run.h"
#include "sql/trouble.h"

/*
 * The manifest of a summary without files. The one before is as it was when the run's report was first written. NULL
 * with trouble; the caller owns it.
 */
json_t *manifest_new(sqlite3 *db, const json_t *summary, struct trouble *t);

/* Adds a file. */
void manifest_add(json_t *manifest, const char *name, const struct outfile_sum *sum);

/* Notes in the index that the manifest, whose hash is sha256, was written to directory. 0 or -1. */
int manifest_remember(const struct run *run, sqlite3 *db, const json_t *manifest, const char *sha256,
		      const char *directory, struct trouble *t);

#endif

/*
 * directory: a report directory comes into being whole. It is filled under the name DIR.tmp-RUN beside its own, flushed
 * to the disk, and renamed. An earlier report of the same run is swapped for it; anything else that stands there is
 * left alone.
 */
#ifndef REPORTS_DIRECTORY_H
#define REPORTS_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "sql/run.h"
#include "sql/trouble.h"

/* All names that a report directory may hold. */
#define REPORT_FILES(X)   \
	X("summary.json") \
	X("findings.jsonl.zst") X("findings.csv.zst") X("metrics.prom") X("report.html") X("manifest.json")

struct directory {
	char *path;      /* without slashes at its end; owned */
	char *temporary; /* where the files go; owned */
	bool exists;     /* an earlier report of the same run stands at path */
};

/*
 * Makes the temporary directory, and the parents. started tells runs of different indexes apart. A stale one of a
 * killed report of the same run is removed. 0, or -1 with nothing to release.
 */
int directory_begin(struct directory *d, const char *path, int64_t run, const char *started, struct trouble *t);

/*
 * Flushes and renames, and releases *d. 0, or -1 with path as it was. What is left of an earlier report after the swap
 * is a note.
 */
int directory_commit(const struct run *run, struct directory *d, struct trouble *t);

/* Removes the temporary directory and releases *d. */
void directory_abandon(struct directory *d);

#endif

/*
 * analyzer: history and fences -> findings. Reads and writes only the index; sources are closed by now.
 */
#ifndef ANALYZER_ANALYZER_H
#define ANALYZER_ANALYZER_H

#include <sqlite3.h>

#include "analyzer/rebase_story.h"
#include "sql/run.h"
#include "sql/trouble.h"

struct analyzer_options {
	const char *checks_dir;   /* --checks DIR: adds or overrides; NULL: none */
	const char *const *only;  /* names of the checks to run; NULL: all */
	size_t only_count;
};

/*
 * Folds and runs the checks for the run run->id, which must have been sampled, and sets run.reached = 'checked'.
 * Its samples must not have been removed.
 * Earlier results of that run are replaced, in one transaction. A check that fails to run is a check_result with status
 * error and a row in trouble; the others go on. 0, or -1 where nothing could be concluded.
 */
int analyzer_check(const struct run *run, sqlite3 *db, const struct analyzer_options *options, struct trouble *t);

/*
 * Removes the samples of runs older than the newest keep >= 2 of a pipeline: reports of these runs stay the same, but
 * they cannot be checked again. 0, or -1 with nothing removed.
 */
int analyzer_prune(sqlite3 *db, int64_t keep, struct trouble *t);

/*
 * One line per check for `fencepost checks`, or all header comments of one. Calls show with name, severity, title,
 * claim, unverifiable, remedy, sql.
 */
struct check_text {
	const char *name, *severity, *title, *claim, *unverifiable, *remedy, *sql;
};
int analyzer_checks(const char *checks_dir, void (*show)(void *context, const struct check_text *check), void *context,
		    struct trouble *t);

#endif

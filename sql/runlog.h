/*
 * runlog: the row of a run and what hangs off it directly: how far it got, how long its stages took, and what it
 * could not look at.
 */
#ifndef SQL_RUNLOG_H
#define SQL_RUNLOG_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "sql/run.h"
#include "sql/trouble.h"

#define FENCEPOST_VERSION "0.1.0"

struct run_begin {
	const char *command; /* audit, replay, sample */
	const char *config;  /* the file as named */
	const char *config_sha256;
	int64_t since_us; /* UNKNOWN: not asked for */
	bool all_keys;
};

/* Adds a run that has begun now and gives its id in *id. 0 or -1. */
int run_begin(const struct run *run, sqlite3 *db, const struct run_begin *begin, int64_t *id, struct trouble *t);

/*
 * Says how far the run run->id got: "replayed", "sampled", "checked", "reported"; finished: nothing more will follow.
 */
int run_reached(const struct run *run, sqlite3 *db, const char *reached, bool finished, struct trouble *t);

/* A stage took from started_us (wall) for duration_us. A stage that is run again replaces its row. */
int run_stage(const struct run *run, sqlite3 *db, const char *name, int64_t started_us, int64_t duration_us,
	      struct trouble *t);

/* What could not be looked at; pipeline and topic may be NULL, partition UNKNOWN. Also handed to main as a note. */
struct run_gap {
	const char *stage, *pipeline, *topic;
	int64_t partition;
};
int run_trouble(const struct run *run, sqlite3 *db, const struct run_gap *gap, const struct trouble *what,
		struct trouble *t);

/* The newest run that reached at least the given stage: 1 with *id, 0 none, -1. */
int run_newest(sqlite3 *db, const char *reached, int64_t *id, struct trouble *t);

/* 1 where run id exists and reached at least the given stage, 0 where not, -1. */
int run_has(sqlite3 *db, int64_t id, const char *reached, struct trouble *t);

#endif

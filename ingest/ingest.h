/*
 * ingest: facts in. The order of looking (DESIGN section 3), written once over the interfaces source.h and sample.h:
 *
 *   1. log starts and ends; replay every partition from where the index stops to the end seen now
 *   2. log starts again, then the commits C, the group's state and members, then the epochs
 *   3. sample Redis
 *   4. the ends E and the partition counts again; replay the tail to E
 *   5. ask Redis directly for sampled keys without a look and for keys first seen in the tail; the high watermarks a
 *      last time
 *
 * Why a finding is then never a race: the worker writes Redis, then produces, then commits, so at step 3 every record
 * below C was applied; fences only rise, so looking later is sound; and a fence at or above the last high watermark
 * is impossible.
 */
#ifndef INGEST_INGEST_H
#define INGEST_INGEST_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "ingest/config.h"
#include "sql/run.h"
#include "sql/trouble.h"

struct ingest_options {
	const struct config *config;
	int handles;        /* consumer handles a cluster */
	int64_t timeout_ms; /* give up on a partition or server after so long without progress */
	bool only_replay;   /* step 1 alone */
	bool all_keys;
	int64_t since_us; /* only keys written since; UNKNOWN: the whole sample */
};

/*
 * Looks, for the run run->id. What could not be looked at becomes rows in table trouble, and the rest goes on; -1
 * only where the index itself cannot be written. 1 the whole order was gone through; 0 ended early because of
 * run_stopped, with what is whole committed.
 */
int ingest_run(const struct run *run, sqlite3 *db, const struct ingest_options *options, struct trouble *t);

#endif

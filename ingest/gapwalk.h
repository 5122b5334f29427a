/* gapwalk: finds the holes of one partition in the index, and what to do about them. Internal to gapwindow.c. */
#ifndef INGEST_GAPWALK_H
#define INGEST_GAPWALK_H

#include <sqlite3.h>

#include "ingest/gapwindow.h"

/* One partition's holes. */
struct gap_work {
	struct topic_history *topic;
	struct topic_part *part;
	struct ranges holes;   /* to be looked at */
	struct ranges windows; /* around them */
	struct ranges unknown; /* cannot be looked at, or not now */
	int64_t goal;          /* holes below are in holes or in unknown, or need no look */
};

void gap_work_release(struct gap_work *work);

/*
 * Reads the index from part->gap on, until most holes are found or part->next is reached. *budget: offsets that may
 * still be re-read; windows beyond become unknown. 0, or -1: damage.
 */
int gap_walk_part(sqlite3 *db, struct gap_work *work, size_t most, int64_t merge, int64_t *budget, struct trouble *t);

#endif

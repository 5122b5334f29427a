/*
 * anchor: is the history that the broker now has still the one that was indexed?
 *
 * Backwards from the newest indexed offset, windows of 1, 2, 4, 8 ... offsets are probed for their first record. A
 * record that the index has alike (timestamp, key, value size, value hash) is an anchor; three are enough. Records
 * that are merely gone (compacted, trimmed) say nothing. One that differs, or lies where the index saw none, shows
 * another history: the first different offset is then found by bisection. All partitions are probed at once, so a
 * look costs some round trips, however many there are.
 */
#ifndef INGEST_ANCHOR_H
#define INGEST_ANCHOR_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ingest/replay.h"
#include "ingest/source.h"

enum { ANCHORS_ENOUGH = 3 };

/* Where a partition's history is another one than the index has. */
struct divergence {
	int32_t partition;
	bool differs;   /* a different record at offset; false: the end fell to offset */
	int64_t offset; /* records below are common */
	char *evidence; /* JSON; from malloc */
};

struct divergences {
	struct divergence *items;
	size_t count;
};

void divergences_release(struct divergences *found);

/*
 * Looks at every part that the index has something of; topics come with their parts loaded, log starts and ends
 * known. found[i] is for topics[i], zeroed by the caller, who releases it. Parts come out verified, or with
 * trouble. Only reads the index.
 */
void anchor_check(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topics, size_t count,
		  struct divergences *found);

#endif

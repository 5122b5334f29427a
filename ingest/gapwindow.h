/*
 * gapwindow: a second look at the holes. A read_committed replay leaves holes where markers and aborted records
 * were, and neither its size nor its place tells which: interleaved producers leave aborted records in holes of
 * one. Holes near each other are merged into windows; each window is read once read_uncommitted, and what is found
 * in its holes was aborted: chunks of kind aborted. How far the holes were looked at (partition.gap_offset) moves
 * in the same transaction, so no hole is looked at twice, however often a run is killed.
 *
 * A topic that may be compacted has holes without end: there windows are limited in a run, and what exceeds it
 * becomes a gap_range of class unknown.
 */
#ifndef INGEST_GAPWINDOW_H
#define INGEST_GAPWINDOW_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "ingest/replay.h"
#include "ingest/source.h"

struct gap_limits {
	/* holes closer than so many offsets share a window: a seek costs as much as reading them */
	int64_t merge;
	int64_t compacted; /* offsets that a run re-reads of a topic that may be compacted */
	size_t holes;      /* kept in memory at a time, of all partitions; 16 bytes each */
};

/* A seek costs some 10 ms, in which 20,000 records can be read. */
static const struct gap_limits GAP_LIMITS = { .merge = 20000, .compacted = 50000000, .holes = 1 << 20 };

/* Ascending, disjoint ranges of offsets. items from malloc. */
struct ranges {
	struct horizon *items;
	size_t count;
};

void ranges_add(struct ranges *ranges, int64_t start, int64_t end);
void ranges_release(struct ranges *ranges);

/* Holes closer than merge, in windows. */
void gap_windows(const struct ranges *holes, int64_t merge, struct ranges *windows);

/* What of holes no range of without covers. */
void gap_subtract(const struct ranges *holes, const struct ranges *without, struct ranges *rest);

/*
 * Looks at the holes of every part between gap and next. Parts that could not be re-read get trouble. With
 * isolation read_uncommitted there is nothing to look at, and gap moves to next. 0, or -1: the index.
 */
int gapwindow_run(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topics, size_t count,
		  const struct gap_limits *limits, struct trouble *t);

#endif

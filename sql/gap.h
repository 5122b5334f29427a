/*
 * gap: the holes of a partition's history, and what each of them is. The virtual table gap (gap.c) shows the same.
 *
 * A hole is a run of offsets below the partition's next offset that no committed record covers; it is split where its
 * class changes. The class of an offset is the first that applies:
 *
 *     trimmed     below the first indexed offset, or in a gap_range of that class: it was gone before it could be read
 *     unknown     in a gap_range of that class
 *     aborted     an indexed aborted record
 *     unknown     at or above gap_offset: not re-read for aborted records yet
 *     compacted   the topic was once seen compacted: a record that compaction removed, or a transaction's marker
 *     unknown     no run could ever read the cleanup policy
 *     control     a transaction's marker
 */
#ifndef SQL_GAP_H
#define SQL_GAP_H

#include <stdint.h>

#include "sql/sqlite.h"
#include "sql/trouble.h"

#define GAP_CLASSES(X)                                                                                                 \
	X(CONTROL, "control")                                                                                          \
	X(ABORTED, "aborted")                                                                                          \
	X(COMPACTED, "compacted")                                                                                      \
	X(TRIMMED, "trimmed")                                                                                          \
	X(UNKNOWN, "unknown")

enum gap_class {
#define GAP_ID(id, name) GAP_##id,
	GAP_CLASSES(GAP_ID)
#undef GAP_ID
};

const char *gap_class_name(enum gap_class class);

/* Offsets [start, end) of one class, as long as it can be. */
struct gap {
	int64_t start, end;
	enum gap_class class;
};

/*
 * Walks over the gaps of a partition; it keeps a read open until its end. It must not outlive changes to the history:
 * make it anew after them.
 */
struct gap_walk;

struct gap_walk *gap_walk_new(sqlite3 *db);
void gap_walk_free(struct gap_walk *walk);

/*
 * Begins over: the gaps of a partition that have an offset in [start, end), whole. A partition that is not indexed has
 * none. 0 or -1.
 */
int gap_walk_range(struct gap_walk *walk, int64_t incarnation_id, int64_t partition, int64_t start, int64_t end,
		   struct trouble *t);

/* 1 with a gap, in rising order; 0 at the end; -1. */
int gap_walk_next(struct gap_walk *walk, struct gap *gap, struct trouble *t);

/* How many chunks the walk has decoded so far. */
int64_t gap_walk_decoded(const struct gap_walk *walk);

#endif

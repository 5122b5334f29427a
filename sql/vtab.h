/*
 * vtab: what the virtual tables record and gap have in common: which constraints they take from SQLite, ranges out of
 * those, and the places (incarnation, partition) that they go through.
 *
 * A table lists the constraints that it can use. vtab_choose finds which of them a query has and asks SQLite for their
 * values in the list's order; bit i of the plan says that entry i of the list is there. SQLite checks all rows again,
 * so a range may be too wide, never too narrow.
 */
#ifndef SQL_VTAB_H
#define SQL_VTAB_H

#include <stddef.h>
#include <stdint.h>

#include "sql/sqlite.h"
#include "sql/trouble.h"

/* One usable constraint: a column, and SQLITE_INDEX_CONSTRAINT_*. */
struct vtab_push {
	int column, op;
};

/* Values in [start, end); INT64_MAX as end is no end. */
struct vtab_range {
	int64_t start, end;
};

#define VTAB_EVERYTHING ((struct vtab_range){ INT64_MIN, INT64_MAX })

/* The plan: which pushes the query has. Text is pushed down only where it compares byte by byte. */
unsigned vtab_choose(sqlite3_index_info *info, const struct vtab_push *pushes, size_t count);

/*
 * Whether rows in the order of the columns of order, which ends with -1, satisfy ORDER BY, given those that are fixed
 * by = in the plan.
 */
int vtab_in_order(const sqlite3_index_info *info, const struct vtab_push *pushes, unsigned plan, const int *order);

/* Narrows range to what `column op value` leaves. Values that are no numbers leave it as it is, NULL leaves nothing. */
void vtab_narrow(struct vtab_range *range, int op, sqlite3_value *value);

static inline int vtab_is_empty(struct vtab_range range)
{
	return range.start >= range.end;
}

/* Hands the words to SQLite. Always SQLITE_ERROR. */
int vtab_fail(sqlite3_vtab *table, const struct trouble *t);

/* Which places a query wants, and the one it is at. Zero it; vtab_places_begin prepares. */
struct vtab_places {
	sqlite3_stmt *stmt;
	char *topic_wanted; /* NULL: all */
	struct vtab_range incarnations, partitions;
	/* where it is */
	int64_t incarnation_id, partition;
	const char *topic; /* borrowed from the statement */
};

/* Takes `topic = value`. Returns 0 where nothing can be equal to it, else 1. */
int vtab_places_topic(struct vtab_places *places, sqlite3_value *value);

/* Starts over, in the order of incarnation and partition. 0 or -1. */
int vtab_places_begin(struct vtab_places *places, sqlite3 *db, struct trouble *t);

/* 1 at a place, 0 no more, -1. */
int vtab_places_next(struct vtab_places *places, struct trouble *t);

/* Forgets what was wanted; the statement stays. */
void vtab_places_reset(struct vtab_places *places);

void vtab_places_release(struct vtab_places *places);

/* What the tables of one connection count together; owned by the connection. */
struct vtab_shared {
	int64_t chunks_decoded;
};

/* The modules, each for sqlite3_create_module with a struct vtab_shared. */
extern const sqlite3_module record_module;
extern const sqlite3_module gap_module;

#endif

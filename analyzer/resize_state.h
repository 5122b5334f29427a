/*
 * resize_state: what the files resize*.c share while they look for the partition counts of a topic.
 */
#ifndef ANALYZER_RESIZE_STATE_H
#define ANALYZER_RESIZE_STATE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "analyzer/topic.h"
#include "sql/chunk_scan.h"
#include "sql/run.h"
#include "sql/trouble.h"

/* Where the records of a partition begin. */
struct resize_start {
	int64_t ms;              /* of the first record, or where that is not exact the least of its chunk; UNKNOWN: none */
	int64_t offset;          /* of the first record */
	int64_t fall;            /* how far times fall within the first chunk; only where exact */
	int64_t late_ms;         /* the latest of the first few records; only where exact */
	bool exact;
	bool any;                /* there are records, whatever their times */
};

struct resize {
	const struct run *run;
	sqlite3 *db;
	struct fold_topic *topic;
	struct chunk_scan *scan, *times; /* keys, times and flags; times alone */
	sqlite3_stmt *before;    /* resize_before.sql */
	int32_t count;           /* the present one */
	struct resize_start *start; /* per partition */
	int64_t fall;            /* how far times fall from chunk to chunk, in milliseconds */
	int32_t *first_at;       /* per n below count: the partition at or above n that begins first; -1: none does */
};

/* Whether a partition below n has a record from before ms. */
bool resize_has_before(const struct resize *r, int32_t n, int64_t ms);

/* The first record at or above n, 0 < n < count, came then; UNKNOWN: none did, or no record below n came before it. */
int64_t resize_begin_ms(const struct resize *r, int32_t n);

/* No partition at or above n, n < count, has a record. */
bool resize_is_unused(const struct resize *r, int32_t n);

/* It came by then, even if times had fallen there as far as they do anywhere. n is one that has begun. */
int64_t resize_begun_ms(const struct resize *r, int32_t n);

/*
 * --- resize_infer.c ---
 *
 * Adds counts that the history shows to the topic, as resizes without times whose proof is filled in. 0 or -1.
 */
int resize_infer(struct resize *r, struct trouble *t);

#endif

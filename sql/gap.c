/*
 * gap: a walk along the committed records, the aborted ones and the known ranges of a partition, all three in rising
 * order.
 */
#include "sql/gap.h"

#include <stdbool.h>
#include <stdlib.h>

#include "sql/chunk_scan.h"
#include "sql/db.h"
#include "sql/mem.h"
#include "sql/run.h"
#include "sql_data.h"

struct lane {
	struct chunk_scan *scan;
	struct chunk_part part;
};

struct gap_walk {
	sqlite3 *db;
	sqlite3_stmt *partition, *ranges; /* made at first use */
	struct lane committed, aborted;
	/* of the partition */
	int64_t first_offset, next_offset, gap_offset;
	bool compacted, policy_unknown;
	/* the range asked for */
	int64_t start, end;
	int64_t at; /* everything below was looked at */
	/* the gap_range at or after at, and the run of aborted records; both ends INT64_MAX: no more */
	struct gap range, run;
};

/* What an offset is, and how far at least the same holds. */
struct piece {
	enum gap_class class;
	int64_t end;
};

const char *gap_class_name(enum gap_class class)
{
	static const char *const names[] = {
#define GAP_NAME(id, name) [GAP_##id] = name,
		GAP_CLASSES(GAP_NAME)
#undef GAP_NAME
	};

	return names[class];
}

struct gap_walk *gap_walk_new(sqlite3 *db)
{
	struct gap_walk *w = xalloc(sizeof(*w));

	w->db = db;
	w->committed.scan = chunk_scan_new(db, CHUNK_OFFSET);
	w->aborted.scan = chunk_scan_new(db, CHUNK_OFFSET);
	return w;
}

void gap_walk_free(struct gap_walk *w)
{
	if (!w)
		return;
	chunk_scan_free(w->committed.scan);
	chunk_scan_free(w->aborted.scan);
	sqlite3_finalize(w->partition);
	sqlite3_finalize(w->ranges);
	free(w);
}

int64_t gap_walk_decoded(const struct gap_walk *w)
{
	return chunk_scan_decoded(w->committed.scan) + chunk_scan_decoded(w->aborted.scan);
}

/* --- beginning --------------------------------------------------------------------------------------------------- */

/* 1, or 0 where the partition is not indexed. */
static int read_partition(struct gap_walk *w, int64_t incarnation_id, int64_t partition, struct trouble *t)
{
	int more;

	if (!w->partition && db_prepare(w->db, sql_queries_gap_partition, &w->partition, t) < 0)
		return -1;
	db_bind_int(w->partition, 1, incarnation_id);
	db_bind_int(w->partition, 2, partition);
	db_bind_int(w->partition, 3, w->start);
	more = db_step(w->partition, t);
	if (more > 0) {
		w->first_offset = db_int(w->partition, 0);
		w->next_offset = db_int(w->partition, 1);
		w->gap_offset = db_int(w->partition, 2);
		w->compacted = db_int(w->partition, 3);
		w->policy_unknown = db_int(w->partition, 4);
		w->at = db_int(w->partition, 5);
	}
	sqlite3_reset(w->partition);
	return more;
}

static int next_range(struct gap_walk *w, struct trouble *t)
{
	int more = db_step(w->ranges, t);

	w->range = (struct gap){ INT64_MAX, INT64_MAX, GAP_UNKNOWN };
	if (more > 0)
		w->range = (struct gap){ db_int(w->ranges, 0), db_int(w->ranges, 1),
					 db_int(w->ranges, 2) ? GAP_TRIMMED : GAP_UNKNOWN };
	return more;
}

static int begin_ranges(struct gap_walk *w, int64_t incarnation_id, int64_t partition, struct trouble *t)
{
	if (!w->ranges && db_prepare(w->db, sql_queries_gap_range, &w->ranges, t) < 0)
		return -1;
	sqlite3_reset(w->ranges);
	db_bind_int(w->ranges, 1, incarnation_id);
	db_bind_int(w->ranges, 2, partition);
	return next_range(w, t) < 0 ? -1 : 0;
}

static void begin_lane(struct lane *lane, struct chunk_place place, int64_t start, int64_t end)
{
	lane->part = (struct chunk_part){ .view = NULL };
	chunk_scan_range(lane->scan, place, start, end);
}

int gap_walk_range(struct gap_walk *w, int64_t incarnation_id, int64_t partition, int64_t start, int64_t end,
		   struct trouble *t)
{
	struct chunk_place place = { incarnation_id, partition, CHUNK_COMMITTED };
	int more;

	w->start = start < 0 ? 0 : start;
	w->end = end;
	w->at = w->next_offset = 0; /* nothing, should we fail */
	more = read_partition(w, incarnation_id, partition, t);
	if (more <= 0)
		return more;
	begin_lane(&w->committed, place, w->at, w->next_offset);
	place.kind = CHUNK_ABORTED;
	begin_lane(&w->aborted, place, w->at, w->next_offset);
	w->run = (struct gap){ -1, -1, GAP_ABORTED };
	return begin_ranges(w, incarnation_id, partition, t);
}

/* --- walking ----------------------------------------------------------------------------------------------------- */

/* The first record at or above offset: its offset, or INT64_MAX where there is none; -1 is trouble. */
static int64_t lane_seek(struct lane *lane, int64_t offset, struct trouble *t)
{
	int more;

	while ((more = chunk_scan_peek(lane->scan, &lane->part, t)) > 0) {
		struct chunk_part *p = &lane->part;
		const int64_t *offsets = p->view->offset;

		if (offsets[p->to - 1] < offset)
			p->from = p->to;
		while (p->from < p->to && offsets[p->from] < offset)
			p->from++;
		if (p->from < p->to)
			return offsets[p->from];
	}
	return more < 0 ? -1 : INT64_MAX;
}

/* The first offset at or above offset that no record of the lane has; -1 is trouble. */
static int64_t lane_run_end(struct lane *lane, int64_t offset, struct trouble *t)
{
	int64_t at;

	while ((at = lane_seek(lane, offset, t)) == offset) {
		struct chunk_part *p = &lane->part;
		const int64_t *offsets = p->view->offset;
		size_t last = p->to - 1;

		if (offsets[last] - offset == (int64_t)(last - p->from)) { /* dense to its end, the usual case */
			p->from = last;
			offset = offsets[last];
		}
		while (p->from < p->to && offsets[p->from] == offset) {
			p->from++;
			offset++;
		}
	}
	return at < 0 ? -1 : offset;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* What is left when neither range nor record says it. */
static enum gap_class class_of_policy(const struct gap_walk *w)
{
	return w->compacted ? GAP_COMPACTED : w->policy_unknown ? GAP_UNKNOWN : GAP_CONTROL;
}

/* Brings run to the first aborted records that are not all below at. */
static int find_run(struct gap_walk *w, int64_t at, struct trouble *t)
{
	if (w->run.end > at)
		return 0;
	w->run.start = w->run.end = lane_seek(&w->aborted, at, t);
	if (w->run.start >= 0 && w->run.start < INT64_MAX)
		w->run.end = lane_run_end(&w->aborted, w->run.start, t);
	return w->run.start < 0 || w->run.end < 0 ? -1 : 0;
}

/* Classes offset at by the chunks: an aborted record, or none. */
static int class_by_record(struct gap_walk *w, int64_t at, struct piece *piece, struct trouble *t)
{
	if (find_run(w, at, t) < 0)
		return -1;
	if (w->run.start <= at) {
		piece->class = GAP_ABORTED;
		piece->end = least(piece->end, w->run.end);
		return 0;
	}
	piece->end = least(piece->end, w->run.start);
	piece->class = GAP_UNKNOWN;
	if (at < w->gap_offset) {
		piece->class = class_of_policy(w);
		piece->end = least(piece->end, w->gap_offset);
	}
	return 0;
}

/* Classes offset at, in a hole that ends at piece->end. */
static int class_at(struct gap_walk *w, int64_t at, struct piece *piece, struct trouble *t)
{
	while (w->range.end <= at) {
		if (w->range.start == INT64_MAX)
			break;
		if (next_range(w, t) < 0)
			return -1;
	}
	if (at < w->first_offset) {
		piece->class = GAP_TRIMMED;
		piece->end = least(piece->end, w->first_offset);
		return 0;
	}
	if (w->range.start <= at) {
		piece->class = w->range.class;
		piece->end = least(piece->end, w->range.end);
		return 0;
	}
	piece->end = least(piece->end, w->range.start);
	return class_by_record(w, at, piece, t);
}

/* The gap that begins at `at`, in a hole that ends at end. */
static int read_gap(struct gap_walk *w, int64_t end, struct gap *gap, struct trouble *t)
{
	struct piece piece = { .end = end };

	if (class_at(w, w->at, &piece, t) < 0)
		return -1;
	*gap = (struct gap){ w->at, piece.end, piece.class };
	while (gap->end < end) {
		piece.end = end;
		if (class_at(w, gap->end, &piece, t) < 0)
			return -1;
		if (piece.class != gap->class)
			break;
		gap->end = piece.end;
	}
	w->at = gap->end;
	return 0;
}

int gap_walk_next(struct gap_walk *w, struct gap *gap, struct trouble *t)
{
	while (w->at < w->next_offset && w->at < w->end) {
		int64_t start = lane_run_end(&w->committed, w->at, t);
		int64_t end = start < 0 ? -1 : lane_seek(&w->committed, start, t);

		if (end < 0)
			return -1;
		w->at = start;
		if (start >= w->next_offset || start >= w->end)
			break;
		if (read_gap(w, least(end, w->next_offset), gap, t) < 0)
			return -1;
		if (gap->end > w->start)
			return 1;
	}
	if (w->ranges)
		sqlite3_reset(w->ranges);
	return 0;
}

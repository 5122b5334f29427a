/* gapwalk: see gapwalk.h. */
#include "ingest/gapwalk.h"

#include "sql/chunk_scan.h"
#include "sql/db.h"
#include "sql_data.h"

void gap_work_release(struct gap_work *work)
{
	ranges_release(&work->holes);
	ranges_release(&work->windows);
	ranges_release(&work->unknown);
}

/* Passes the chunks that have no hole, as their rows say, without reading them: most history is dense. */
static int pass_dense(sqlite3_stmt *dense, int64_t *position, int64_t end, struct trouble *t)
{
	int more = 1;

	while (more > 0 && *position < end) {
		db_bind_int(dense, 4, *position);
		more = db_step(dense, t);
		if (more > 0)
			*position = db_int(dense, 0) < end ? db_int(dense, 0) : end;
		sqlite3_reset(dense);
	}
	return more < 0 ? -1 : 0;
}

/* The holes of the next chunk, from *position on, where it then comes to. */
static int find_in_chunk(struct chunk_scan *scan, struct ranges *holes, int64_t *position, struct trouble *t)
{
	struct chunk_part part;
	int more = chunk_scan_next(scan, &part, t);

	for (size_t i = part.from; more > 0 && i < part.to; i++) {
		if (part.view->offset[i] > *position)
			ranges_add(holes, *position, part.view->offset[i]);
		*position = part.view->offset[i] + 1;
	}
	return more;
}

static int find_holes(sqlite3 *db, struct gap_work *work, size_t most, struct ranges *holes, struct trouble *t)
{
	struct chunk_place place = { work->topic->incarnation_id, work->part->partition, CHUNK_COMMITTED };
	struct chunk_scan *scan;
	int64_t position = work->part->gap;
	sqlite3_stmt *dense;
	int more = 1;

	if (db_prepare(db, sql_queries_chunk_dense, &dense, t) < 0)
		return -1;
	db_bind_int(dense, 1, place.incarnation_id);
	db_bind_int(dense, 2, place.partition);
	db_bind_int(dense, 3, place.kind);
	scan = chunk_scan_new(db, CHUNK_OFFSET);
	while (holes->count < most && more > 0) {
		more = pass_dense(dense, &position, work->part->next, t);
		if (more < 0)
			break;
		chunk_scan_range(scan, place, position, work->part->next);
		more = find_in_chunk(scan, holes, &position, t);
	}
	if (more == 0) {
		if (position < work->part->next)
			ranges_add(holes, position, work->part->next);
		position = work->part->next;
	}
	work->goal = position;
	chunk_scan_free(scan);
	sqlite3_finalize(dense);
	return more < 0 ? -1 : 0;
}

static int find_trimmed(sqlite3 *db, const struct gap_work *work, struct ranges *trimmed, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int more;

	if (db_prepare(db, sql_queries_gap_trimmed, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, work->topic->incarnation_id);
	db_bind_int(stmt, 2, work->part->partition);
	db_bind_int(stmt, 3, work->part->gap);
	while ((more = db_step(stmt, t)) > 0)
		ranges_add(trimmed, db_int(stmt, 0), db_int(stmt, 1));
	sqlite3_finalize(stmt);
	return more;
}

/* Holes below today's log start are out of reach. */
static void drop_unreachable(struct gap_work *work, const struct ranges *holes)
{
	int64_t log_start = work->part->log_start;

	for (size_t i = 0; i < holes->count; i++) {
		struct horizon hole = holes->items[i];

		if (hole.start < log_start)
			ranges_add(&work->unknown, hole.start, hole.end < log_start ? hole.end : log_start);
		if (hole.end > log_start)
			ranges_add(&work->holes, hole.start > log_start ? hole.start : log_start, hole.end);
	}
}

/*
 * Windows within the budget stay; the rest is remembered as unknown. Holes of those are never asked for, so they
 * may stay in the list.
 */
static void keep_within(struct gap_work *work, const struct ranges *windows, int64_t *budget)
{
	for (size_t i = 0; i < windows->count; i++) {
		struct horizon window = windows->items[i];
		int64_t size = window.end - window.start;

		if (size > *budget) {
			*budget = 0;
			ranges_add(&work->unknown, window.start, window.end);
		} else {
			*budget -= size;
			ranges_add(&work->windows, window.start, window.end);
		}
	}
}

int gap_walk_part(sqlite3 *db, struct gap_work *work, size_t most, int64_t merge, int64_t *budget, struct trouble *t)
{
	struct ranges all = { 0 }, trimmed = { 0 }, open = { 0 }, windows = { 0 };
	int result = find_holes(db, work, most, &all, t) < 0 || find_trimmed(db, work, &trimmed, t) < 0 ? -1 : 0;

	if (result == 0) {
		gap_subtract(&all, &trimmed, &open);
		drop_unreachable(work, &open);
		gap_windows(&work->holes, merge, &windows);
		keep_within(work, &windows, budget);
	}
	ranges_release(&all);
	ranges_release(&trimmed);
	ranges_release(&open);
	ranges_release(&windows);
	return result;
}

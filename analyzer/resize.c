/* resize: where partitions begin, and what follows from it. */
#include "analyzer/resize.h"

#include <stdlib.h>

#include "analyzer/resize_state.h"
#include "sql/db.h"
#include "sql/mem.h"
#include "sql_data.h"

/* First records of a partition, and partitions, some of which may have come late. */
enum { FEW = 8, PARTITIONS_FEW = 3 };

/* --- where partitions begin --------------------------------------------------------------------------------------- */

static int read_start(sqlite3_stmt *stmt, const struct fold_topic *topic, const struct fold_partition *part,
		      struct resize_start *start, struct trouble *t)
{
	int more;

	if (part->indexed_end == UNKNOWN)
		return 0;
	db_bind_int(stmt, 1, topic->incarnation_id);
	db_bind_int(stmt, 2, part->partition);
	db_bind_int(stmt, 3, part->indexed_end);
	more = db_step(stmt, t);
	if (more > 0) {
		start->any = true;
		start->offset = db_int(stmt, 0);
		start->ms = db_int(stmt, 1);
	}
	sqlite3_reset(stmt);
	return more < 0 ? -1 : 0;
}

static int read_starts(struct resize *r, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int result = 0;

	for (int32_t p = 0; p < r->count; p++)
		r->start[p] = (struct resize_start){ .ms = UNKNOWN };
	if (db_prepare(r->db, sql_queries_resize_first, &stmt, t) < 0)
		return -1;
	for (size_t i = 0; i < r->topic->part_n && result == 0; i++) {
		const struct fold_partition *part = &r->topic->parts[i];

		if (part->partition < r->count)
			result = read_start(stmt, r->topic, part, &r->start[part->partition], t);
	}
	sqlite3_finalize(stmt);
	return result;
}

/* Reads the first chunk. A record without a time says nothing of when. */
static int make_exact(struct resize *r, int32_t partition, struct trouble *t)
{
	struct resize_start *start = &r->start[partition];
	struct chunk_part part;
	int64_t latest = INT64_MIN;
	int more;

	start->exact = true;
	chunk_scan_range(r->times, (struct chunk_place){ r->topic->incarnation_id, partition, CHUNK_COMMITTED },
			 start->offset, INT64_MAX);
	more = chunk_scan_next(r->times, &part, t);
	if (more <= 0)
		return more;
	start->ms = part.view->timestamp_ms[part.from] < 0 ? UNKNOWN : part.view->timestamp_ms[part.from];
	for (size_t i = part.from; i < part.to; i++) {
		int64_t ms = part.view->timestamp_ms[i];

		if (ms > latest)
			latest = ms;
		if (i < part.from + FEW)
			start->late_ms = latest;
		if (latest - ms > start->fall)
			start->fall = latest - ms;
	}
	return 0;
}

/* Few chunks are read: only of partitions that may begin before all above them. */
static int find_first(struct resize *r, struct trouble *t)
{
	int32_t first = -1;

	for (int32_t p = r->count - 1; p > 0; p--) {
		struct resize_start *start = &r->start[p];
		bool earlier = start->ms != UNKNOWN && (first < 0 || start->ms < r->start[first].ms);

		if (earlier && make_exact(r, p, t) < 0)
			return -1;
		if (earlier && start->ms != UNKNOWN && (first < 0 || start->ms < r->start[first].ms))
			first = p;
		r->first_at[p] = first;
	}
	return 0;
}

/* A column that has no value, where no partition has two chunks, is less than 0. */
static int find_fall(struct resize *r, struct trouble *t)
{
	sqlite3_stmt *stmt = db_query(r->db, sql_queries_resize_disorder, r->topic->incarnation_id, t);
	int more = db_step(stmt, t);

	r->fall = more > 0 && db_int(stmt, 0) > 0 ? db_int(stmt, 0) : 0;
	sqlite3_finalize(stmt);
	return more < 0 ? -1 : 0;
}

static int64_t later(int64_t ms, int64_t by)
{
	int64_t sum;

	return __builtin_add_overflow(ms, by, &sum) ? INT64_MAX : sum;
}

/* How far times fall where partitions at or above n begin. */
static int64_t fall_at(const struct resize *r, int32_t n)
{
	const struct resize_start *first = &r->start[r->first_at[n]];

	return first->fall > r->fall ? first->fall : r->fall;
}

int64_t resize_begun_ms(const struct resize *r, int32_t n)
{
	return later(r->start[r->first_at[n]].ms, fall_at(r, n));
}

/* Of the partitions at or above n, the one that begins after a few others did. UNKNOWN: there are not so many. */
static int64_t begin_of_few(const struct resize *r, int32_t n)
{
	int64_t least[PARTITIONS_FEW];
	int found = 0;

	for (int32_t p = n; p < r->count; p++) {
		int64_t ms = r->start[p].ms;
		int at = found;

		if (ms == UNKNOWN || (found == PARTITIONS_FEW && ms >= least[found - 1]))
			continue;
		if (found < PARTITIONS_FEW)
			found++;
		else
			at--;
		for (; at > 0 && least[at - 1] > ms; at--)
			least[at] = least[at - 1];
		least[at] = ms;
	}
	return found == PARTITIONS_FEW ? least[found - 1] : UNKNOWN;
}

/*
 * When producers began to go by more than n partitions, for those who are to be called late. The first record may have
 * come late itself, with an older time: where a few records, or partitions, do not bear it out, theirs counts.
 */
static int64_t settled_ms(const struct resize *r, int32_t n)
{
	const struct resize_start *first = &r->start[r->first_at[n]];
	int64_t few = begin_of_few(r, n), ms = few != UNKNOWN && few < first->late_ms ? few : first->late_ms;

	return later(first->ms, METADATA_AGE_MS) < ms ? ms : first->ms;
}

bool resize_has_before(const struct resize *r, int32_t n, int64_t ms)
{
	for (int32_t p = 0; p < n; p++)
		if (r->start[p].ms != UNKNOWN && r->start[p].ms < ms)
			return true;
	return false;
}

bool resize_is_unused(const struct resize *r, int32_t n)
{
	for (int32_t p = n; p < r->count; p++)
		if (r->start[p].any)
			return false;
	return true;
}

int64_t resize_begin_ms(const struct resize *r, int32_t n)
{
	int64_t ms = r->first_at[n] < 0 ? UNKNOWN : r->start[r->first_at[n]].ms;

	return ms != UNKNOWN && resize_has_before(r, n, ms) ? ms : UNKNOWN;
}

/* --- from when on a record is stale ------------------------------------------------------------------------------- */

/* The offset after the last record of the partition from before end_ms. */
static int find_stale(struct resize *r, const struct fold_partition *part, int64_t end_ms, int64_t *stale,
		      struct trouble *t)
{
	struct chunk_part chunk;
	int64_t from, to, latest;
	int more;

	*stale = 0;
	db_bind_int(r->before, 1, r->topic->incarnation_id);
	db_bind_int(r->before, 2, part->partition);
	db_bind_int(r->before, 3, part->indexed_end);
	db_bind_int(r->before, 4, end_ms);
	db_bind_int(r->before, 5, 1);
	more = db_step(r->before, t);
	from = db_int(r->before, 0);
	to = db_int(r->before, 1);
	latest = db_int(r->before, 2);
	sqlite3_reset(r->before);
	if (more <= 0)
		return more;
	*stale = to;
	if (latest < end_ms)
		return 0;
	chunk_scan_range(r->times, (struct chunk_place){ r->topic->incarnation_id, part->partition, CHUNK_COMMITTED },
			 from, to);
	more = chunk_scan_next(r->times, &chunk, t);
	for (size_t i = chunk.to; more > 0 && i > chunk.from; i--) {
		if (chunk.view->timestamp_ms[i - 1] >= end_ms)
			continue;
		*stale = chunk.view->offset[i - 1] + 1;
		break;
	}
	return more < 0 ? -1 : 0;
}

static int set_stale(struct resize *r, size_t ordinal, int64_t end_ms, struct trouble *t)
{
	for (size_t i = 0; i < r->topic->part_n; i++) {
		struct fold_partition *part = &r->topic->parts[i];

		if (part->partition >= r->topic->count[ordinal] || part->indexed_end == UNKNOWN)
			continue;
		if (run_stopped(r->run))
			return trouble_set(t, "stopped");
		if (find_stale(r, part, end_ms, &part->stale_from[ordinal], t) < 0)
			return -1;
	}
	return 0;
}

static int set_times(struct resize *r, size_t ordinal, struct fold_resize *resize, struct trouble *t)
{
	const struct resize_start *first;

	resize->begin_ms = resize_begin_ms(r, resize->from);
	resize->end_ms = resize->begin_offset = UNKNOWN;
	resize->begin_partition = -1;
	if (resize->begin_ms == UNKNOWN)
		return 0;
	resize->begin_partition = r->first_at[resize->from];
	first = &r->start[resize->begin_partition];
	resize->begin_offset = first->offset;
	resize->begin_late = first->offset > 0;
	resize->end_ms = later(later(settled_ms(r, resize->from), fall_at(r, resize->from)), METADATA_AGE_MS);
	return set_stale(r, ordinal, resize->end_ms, t);
}

/* What was written after runs had seen that the topic has more partitions. */
static int set_seen(struct resize *r, size_t ordinal, struct fold_resize *resize, struct trouble *t)
{
	sqlite3_stmt *rows = db_query(r->db, sql_queries_resize_seen, r->topic->topic_id, t);
	int more;

	db_bind_int(rows, 2, resize->from);
	while ((more = db_step(rows, t)) > 0) {
		struct fold_partition *part = fold_topic_part(r->topic, sqlite3_column_int(rows, 0));

		if (part && db_int(rows, 1) < part->stale_from[ordinal])
			part->stale_from[ordinal] = db_int(rows, 1);
		resize->begin_late |= resize->begin_ms != UNKNOWN && db_int(rows, 2) < resize->begin_ms;
	}
	sqlite3_finalize(rows);
	return more;
}

/* --- the counts --------------------------------------------------------------------------------------------------- */

static struct fold_resize *resize_of(const struct fold_topic *topic, int32_t from)
{
	for (size_t i = 0; i < topic->resize_n; i++)
		if (topic->resizes[i].from == from)
			return &topic->resizes[i];
	return NULL;
}

static void swap_counts(struct fold_topic *topic, size_t a, size_t b)
{
	int32_t count = topic->count[a];

	topic->count[a] = topic->count[b];
	topic->count[b] = count;
	for (size_t i = 0; i < topic->part_n; i++) {
		int64_t *certain = topic->parts[i].certain, before = certain[a];

		certain[a] = certain[b];
		certain[b] = before;
	}
}

/* Earlier counts in falling order. stale_from is the same for all until now. */
static void sort_counts(struct fold_topic *topic)
{
	for (size_t i = 2; i < topic->count_n; i++)
		for (size_t j = i; j > 1 && topic->count[j] > topic->count[j - 1]; j--)
			swap_counts(topic, j, j - 1);
}

/* A resize for each earlier count below the present one, in the order of the counts. */
static void list_resizes(struct fold_topic *topic)
{
	struct fold_resize *all = xarray(topic->count_n, sizeof(*all));
	size_t n = 0;

	for (size_t i = 1; i < topic->count_n; i++) {
		const struct fold_resize *inferred = resize_of(topic, topic->count[i]);

		if (topic->count[i] <= 0 || topic->count[i] >= topic->count[0])
			continue;
		if (inferred)
			all[n] = *inferred;
		else
			all[n].source = RESIZE_RUN;
		all[n].from = topic->count[i];
		all[n].to = n > 0 ? all[n - 1].from : topic->count[0];
		n++;
	}
	free(topic->resizes);
	topic->resizes = all;
	topic->resize_n = n;
}

static int mark_configured(struct resize *r, struct trouble *t)
{
	sqlite3_stmt *rows = db_query(r->db, sql_queries_resize_configured, r->topic->topic_id, t);
	int more;

	while ((more = db_step(rows, t)) > 0) {
		struct fold_resize *resize = resize_of(r->topic, sqlite3_column_int(rows, 0));

		if (resize)
			resize->source = RESIZE_CONFIG;
	}
	sqlite3_finalize(rows);
	return more;
}

static int time_resizes(struct resize *r, struct trouble *t)
{
	struct fold_topic *topic = r->topic;

	for (size_t i = 1; i < topic->count_n; i++) {
		struct fold_resize *resize = resize_of(topic, topic->count[i]);

		if (resize && (set_times(r, i, resize, t) < 0 || set_seen(r, i, resize, t) < 0))
			return -1;
	}
	return 0;
}

static int find(struct resize *r, struct trouble *t)
{
	if (read_starts(r, t) < 0 || find_first(r, t) < 0 || find_fall(r, t) < 0 || resize_infer(r, t) < 0)
		return -1;
	sort_counts(r->topic);
	list_resizes(r->topic);
	return mark_configured(r, t) < 0 ? -1 : time_resizes(r, t);
}

int resize_find(const struct run *run, sqlite3 *db, struct fold_topic *topic, struct trouble *t)
{
	struct resize r = { .run = run, .db = db, .topic = topic, .count = topic->count[0] };
	int result;

	if (r.count <= 1 || topic->incarnation_id == UNKNOWN)
		return 0;
	if (db_prepare(db, sql_queries_resize_before, &r.before, t) < 0)
		return -1;
	r.scan = chunk_scan_new(db, CHUNK_TIMESTAMP | CHUNK_KEY | CHUNK_FLAGS);
	chunk_scan_cut(r.scan, topic->key_part);
	r.times = chunk_scan_new(db, CHUNK_TIMESTAMP);
	r.start = xarray((size_t)r.count, sizeof(*r.start));
	r.first_at = xarray((size_t)r.count, sizeof(*r.first_at));
	result = find(&r, t);
	free(r.start);
	free(r.first_at);
	chunk_scan_free(r.scan);
	chunk_scan_free(r.times);
	sqlite3_finalize(r.before);
	return result < 0 ? trouble_wrap(t, "look for earlier partition counts") : 0;
}

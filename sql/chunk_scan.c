/* chunk_scan: from chunk to chunk along the unique index of table chunk. */
#include "sql/chunk_scan.h"

#include <stdlib.h>
#include <string.h>

#include "sql/db.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"
#include "sql_data.h"

struct chunk_scan {
	sqlite3 *db;
	unsigned columns;
	sqlite3_stmt *next; /* made at first use */
	struct chunk_reader *reader;
	int64_t decoded;
	/* the range asked for; start rises as chunks are passed */
	struct chunk_place place;
	int64_t start, end, start_ms, end_ms;
	/* the chunk in view; view.records is 0 where there is none */
	struct chunk_view view;
	struct chunk_place view_place;
	int64_t view_id;
	/* what the view's keys and flags are where keys are cut */
	enum keypart part;
	uint8_t *key_bytes, *flags;
	uint32_t *key_at;
	size_t key_room;
};

struct chunk_scan *chunk_scan_new(sqlite3 *db, unsigned columns)
{
	struct chunk_scan *scan = xalloc(sizeof(*scan));

	scan->db = db;
	scan->columns = columns | CHUNK_OFFSET;
	scan->reader = chunk_reader_new();
	return scan;
}

void chunk_scan_free(struct chunk_scan *scan)
{
	if (!scan)
		return;
	sqlite3_finalize(scan->next);
	chunk_reader_free(scan->reader);
	free(scan->key_bytes);
	free(scan->flags);
	free(scan->key_at);
	free(scan);
}

void chunk_scan_cut(struct chunk_scan *scan, enum keypart part)
{
	scan->part = part;
	if (part == KEYPART_WHOLE || scan->key_at)
		return;
	scan->key_at = xarray(CHUNK_RECORDS_MAX + 1, sizeof(*scan->key_at));
	scan->flags = xarray(CHUNK_RECORDS_MAX, sizeof(*scan->flags));
}

void chunk_scan_range(struct chunk_scan *scan, struct chunk_place place, int64_t start, int64_t end)
{
	scan->place = place;
	scan->start = start < 0 ? 0 : start;
	scan->end = end;
	scan->start_ms = INT64_MIN;
	scan->end_ms = INT64_MAX;
}

void chunk_scan_times(struct chunk_scan *scan, int64_t start_ms, int64_t end_ms)
{
	scan->start_ms = start_ms;
	scan->end_ms = end_ms;
}

int64_t chunk_scan_decoded(const struct chunk_scan *scan)
{
	return scan->decoded;
}

/* Whether the chunk in view is the one that holds start. */
static bool in_view(const struct chunk_scan *scan)
{
	const struct chunk_view *v = &scan->view;
	const struct chunk_place *a = &scan->place, *b = &scan->view_place;

	return v->records && a->incarnation_id == b->incarnation_id && a->partition == b->partition &&
	       a->kind == b->kind && v->offset[0] <= scan->start && scan->start <= v->offset[v->records - 1];
}

/* Puts cut keys and their flags in the place of those of the view. */
static void cut_keys(struct chunk_scan *scan)
{
	struct chunk_view *v = &scan->view;
	size_t bytes = v->key_at[v->records];
	uint32_t size = 0;

	if (bytes > scan->key_room || !scan->key_bytes) {
		scan->key_bytes = xgrow(scan->key_bytes, bytes + 1, 1);
		scan->key_room = bytes;
	}
	memcpy(scan->flags, v->flags, v->records);
	for (size_t i = 0; i < v->records; i++) {
		struct key_bytes key = { v->key_bytes + v->key_at[i], v->key_at[i + 1] - v->key_at[i] }, part;

		scan->key_at[i] = size;
		if (v->flags[i] & RECORD_NULL_KEY)
			continue;
		if (!keypart_of(scan->part, key, &part)) {
			scan->flags[i] |= RECORD_NULL_KEY | RECORD_NO_PART;
			continue;
		}
		if (part.len)
			memcpy(scan->key_bytes + size, part.bytes, part.len);
		size += (uint32_t)part.len;
	}
	scan->key_at[v->records] = size;
	v->key_bytes = scan->key_bytes;
	v->key_at = scan->key_at;
	v->flags = scan->flags;
}

static int decode(struct chunk_scan *scan, struct trouble *t)
{
	const void *data = sqlite3_column_blob(scan->next, 4);
	size_t size = (size_t)sqlite3_column_bytes(scan->next, 4);
	struct chunk_view *v = &scan->view;

	scan->decoded++;
	if (chunk_decode(scan->reader, data, size, scan->columns, v, t) < 0)
		return -1;
	if (v->offset[0] != db_int(scan->next, 1) || v->offset[v->records - 1] + 1 != db_int(scan->next, 2) ||
	    (int64_t)v->records != db_int(scan->next, 3))
		return trouble_set(t, "its row says other offsets or records than its data");
	if (scan->part != KEYPART_WHOLE)
		cut_keys(scan);
	return 0;
}

/* The chunk of the statement's row comes into view. */
static int show(struct chunk_scan *scan, struct trouble *t)
{
	int64_t id = db_int(scan->next, 0);

	if (scan->view.records && scan->view_id == id)
		return 0;
	scan->view_id = id;
	scan->view_place = scan->place;
	if (decode(scan, t) == 0)
		return 0;
	scan->view.records = 0;
	return trouble_wrap(t, "chunk of incarnation %lld, partition %lld, first offset %lld",
			    (long long)scan->place.incarnation_id, (long long)scan->place.partition,
			    (long long)db_int(scan->next, 1));
}

static int find_next(struct chunk_scan *scan, struct trouble *t)
{
	int more;

	if (!scan->next && db_prepare(scan->db, sql_queries_chunk_next, &scan->next, t) < 0)
		return -1;
	db_bind_int(scan->next, 1, scan->place.incarnation_id);
	db_bind_int(scan->next, 2, scan->place.partition);
	db_bind_int(scan->next, 3, scan->place.kind);
	db_bind_int(scan->next, 4, scan->start);
	db_bind_int(scan->next, 5, scan->end);
	sqlite3_bind_int64(scan->next, 6, scan->start_ms); /* INT64_MIN is a time here */
	sqlite3_bind_int64(scan->next, 7, scan->end_ms);
	more = FAULT(CHUNK_SCAN) ? db_trouble(scan->db, t, "read") : db_step(scan->next, t);
	if (more > 0 && show(scan, t) < 0)
		more = -1;
	sqlite3_reset(scan->next);
	return more;
}

int chunk_scan_next(struct chunk_scan *scan, struct chunk_part *part, struct trouble *t)
{
	struct chunk_view *view = &scan->view;
	int more = 1;

	*part = (struct chunk_part){ .view = view };
	while (scan->start < scan->end) {
		if (!in_view(scan))
			more = find_next(scan, t);
		if (more <= 0)
			return more;
		part->from = chunk_at_offset(view, 0, view->records, scan->start);
		part->to = chunk_at_offset(view, part->from, view->records, scan->end);
		scan->start = view->offset[view->records - 1] + 1;
		if (part->from < part->to)
			return 1;
	}
	return 0;
}

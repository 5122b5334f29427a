/* rejected: a pass over the DLQ's history. */
#include "analyzer/rejected.h"

#include <stdlib.h>
#include <string.h>

#include "sql/chunk_scan.h"
#include "sql/db.h"
#include "sql/mem.h"
#include "sql_data.h"

/* Reason words of the checks. */
static const char INCOMPLETE[] = "dlq-incomplete";
static const char UNNAMED[] = "dlq-unnamed";

static int by_place(const void *a, const void *b)
{
	const struct rejected_at *x = a, *y = b;

	if (x->partition != y->partition)
		return x->partition < y->partition ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void add(struct rejected *rejected, int32_t partition, int64_t offset)
{
	if (rejected->count == rejected->room) {
		rejected->room = rejected->room ? rejected->room * 2 : 256;
		rejected->at = xgrow(rejected->at, rejected->room, sizeof(*rejected->at));
	}
	rejected->at[rejected->count++] = (struct rejected_at){ .partition = partition, .offset = offset };
}

static void take(struct rejected *rejected, const struct chunk_part *part, const char *topic)
{
	const struct chunk_view *view = part->view;
	size_t length = strlen(topic);

	for (size_t i = part->from; i < part->to; i++) {
		uint32_t at, size;

		if (!view->flags || !view->source_offset || !(view->flags[i] & RECORD_SOURCE)) {
			rejected->incomplete = UNNAMED;
			continue;
		}
		at = view->source_topic_at[i];
		size = view->source_topic_at[i + 1] - at;
		if (size == length && memcmp(view->source_topic_bytes + at, topic, size) == 0)
			add(rejected, view->source_partition[i], view->source_offset[i]);
	}
}

static int read_partition(struct chunk_scan *scan, sqlite3_stmt *row, const char *topic, struct rejected *rejected,
			  struct trouble *t)
{
	struct chunk_place place = { sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1), CHUNK_COMMITTED };
	struct chunk_part part;
	int more;

	chunk_scan_range(scan, place, 0, sqlite3_column_int64(row, 2));
	while ((more = chunk_scan_next(scan, &part, t)) > 0)
		take(rejected, &part, topic);
	return more;
}

static int read_all(const struct run *run, struct chunk_scan *scan, sqlite3_stmt *rows, const char *topic,
		    struct rejected *rejected, struct trouble *t)
{
	int more;

	while ((more = db_step(rows, t)) > 0) {
		rejected->known = true;
		if (run_stopped(run)) {
			sqlite3_reset(rows);
			return trouble_set(t, "stopped");
		}
		if (!sqlite3_column_int(rows, 3))
			rejected->incomplete = INCOMPLETE;
		if (sqlite3_column_type(rows, 0) == SQLITE_NULL || sqlite3_column_type(rows, 2) == SQLITE_NULL)
			continue;
		if (read_partition(scan, rows, topic, rejected, t) < 0) {
			sqlite3_reset(rows);
			return -1;
		}
	}
	return more;
}

int rejected_load(const struct run *run, sqlite3 *db, const struct rejected_from *from, struct rejected *rejected,
		  struct trouble *t)
{
	struct chunk_scan *scan;
	sqlite3_stmt *rows;
	int result;

	if (db_prepare(db, sql_queries_fold_dlq, &rows, t) < 0)
		return -1;
	scan = chunk_scan_new(db, CHUNK_FLAGS | CHUNK_SOURCE);
	db_bind_int(rows, 1, from->pipeline_id);
	result = read_all(run, scan, rows, from->topic, rejected, t);
	chunk_scan_free(scan);
	sqlite3_finalize(rows);
	if (!rejected->known)
		rejected->incomplete = INCOMPLETE;
	if (rejected->count)
		qsort(rejected->at, rejected->count, sizeof(*rejected->at), by_place);
	return result < 0 ? trouble_wrap(t, "read the DLQ of %s", from->topic) : 0;
}

void rejected_release(struct rejected *rejected)
{
	free(rejected->at);
	*rejected = (struct rejected){ 0 };
}

static const struct rejected_at *first_at(const struct rejected *rejected, int64_t partition)
{
	size_t low = 0, high = rejected->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rejected->at[middle].partition < partition)
			low = middle + 1;
		else
			high = middle;
	}
	return rejected->at + low;
}

struct rejected_span rejected_in(const struct rejected *rejected, int32_t partition)
{
	if (!rejected->count)
		return (struct rejected_span){ NULL, NULL };
	return (struct rejected_span){ first_at(rejected, partition), first_at(rejected, (int64_t)partition + 1) };
}

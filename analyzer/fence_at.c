/*
 * fence_at: what stands at the partition and offset of a fence. Fences are sorted by place and meet the records while
 * these stream by, so that a fence on another key's record is seen as well as one on its own.
 */
#include "analyzer/fold_state.h"

#include <stdlib.h>

#include "sql/db.h"
#include "sql/keyhash.h"
#include "sql/mem.h"
#include "sql_data.h"

static int by_place(const void *a, const void *b)
{
	const struct fence_ref *x = a, *y = b;

	if (x->partition != y->partition)
		return x->partition < y->partition ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

void fence_refs_init(struct fence_refs *refs, const struct keytable *table)
{
	*refs = (struct fence_refs){ .at = xarray(table->entries.count, sizeof(*refs->at)) };
	for (size_t i = 0; i < table->entries.count; i++) {
		const struct key_entry *entry = keytable_entry(table, (uint32_t)i);

		if (entry->fence_partition >= 0)
			refs->at[refs->count++] =
				(struct fence_ref){ entry->fence_partition, (uint32_t)i, entry->fence_offset };
	}
	qsort(refs->at, refs->count, sizeof(*refs->at), by_place);
}

void fence_refs_release(struct fence_refs *refs)
{
	free(refs->at);
	*refs = (struct fence_refs){ 0 };
}

static size_t first_in(const struct fence_refs *refs, int64_t partition)
{
	size_t low = 0, high = refs->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (refs->at[middle].partition < partition)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct fence_refs fence_refs_in(const struct fence_refs *refs, int32_t partition)
{
	size_t from = first_in(refs, partition), to = first_in(refs, (int64_t)partition + 1);

	return (struct fence_refs){ .at = refs->at + from, .count = to - from };
}

/* Index of the record at the offset, or part->to. Fences rise, so the search begins at *from. */
static size_t record_at(const struct chunk_part *part, size_t *from, int64_t offset)
{
	*from = chunk_at_offset(part->view, *from, part->to, offset);
	return *from < part->to && part->view->offset[*from] == offset ? *from : part->to;
}

static bool is_key(const struct chunk_view *view, size_t i, const struct key_entry *entry)
{
	return !(view->flags[i] & RECORD_NULL_KEY) && view->key_at[i + 1] - view->key_at[i] == entry->key_size &&
	       memcmp(view->key_bytes + view->key_at[i], entry->key, entry->key_size) == 0;
}

static void meet(struct fold *f, const struct fence_ref *ref, const struct chunk_view *view, size_t i)
{
	struct key_entry *entry = keytable_entry(&f->table, ref->entry);

	entry->at_fence = is_key(view, i, entry) ? AT_OWN : AT_OTHER;
	entry->fence_ms = view->timestamp_ms[i];
	entry->fence_tombstone = view->flags[i] & RECORD_TOMBSTONE;
	if (f->topic->lasts)
		keytable_value(&f->table, ref->entry)->value_hash = view->value_hash[i];
}

void fence_at_part(struct fold *f, struct fence_refs *refs, const struct chunk_part *part)
{
	int64_t end = part->view->offset[part->to - 1] + 1;
	size_t from = part->from;

	for (; refs->count && refs->at->offset < end; refs->at++, refs->count--) {
		size_t i = record_at(part, &from, refs->at->offset);

		if (i < part->to)
			meet(f, refs->at, part->view, i);
	}
}

/* Why no committed record was met there; AT_GAP may yet turn out to be an aborted one. */
static enum at_fence nothing_at(const struct fold_partition *part, int64_t offset)
{
	if (!part || part->first_offset == UNKNOWN || part->indexed_end == UNKNOWN)
		return AT_NOT_INDEXED;
	if (offset < part->first_offset)
		return AT_NOT_INDEXED;
	if (offset >= part->indexed_end)
		return part->covered ? AT_UNSTABLE : AT_NOT_REPLAYED;
	return AT_GAP;
}

static void meet_aborted(struct fold *f, struct fence_refs *refs, const struct chunk_part *part)
{
	int64_t end = part->view->offset[part->to - 1] + 1;
	size_t from = part->from;

	for (; refs->count && refs->at->offset < end; refs->at++, refs->count--) {
		struct key_entry *entry = keytable_entry(&f->table, refs->at->entry);
		size_t i = entry->at_fence == AT_GAP ? record_at(part, &from, refs->at->offset) : part->to;

		if (i == part->to)
			continue;
		entry->at_fence = is_key(part->view, i, entry) ? AT_ABORTED : AT_ABORTED_OTHER;
		entry->fence_ms = part->view->timestamp_ms[i];
	}
}

static int scan_aborted(struct fold *f, struct fence_refs refs, int32_t partition, struct trouble *t)
{
	struct chunk_place place = { f->topic->incarnation_id, partition, CHUNK_ABORTED };
	struct chunk_part part;
	int more;

	/* Nothing at or above the indexed end is there; a fence may stand at the highest integer. */
	chunk_scan_range(f->scan, place, refs.at->offset, fold_topic_part(f->topic, partition)->indexed_end);
	while ((more = chunk_scan_next(f->scan, &part, t)) > 0)
		meet_aborted(f, &refs, &part);
	return more;
}

int fence_at_rest(struct fold *f, struct trouble *t)
{
	for (size_t i = 0, next; i < f->refs.count; i = next) {
		int32_t partition = f->refs.at[i].partition;
		const struct fold_partition *part = fold_topic_part(f->topic, partition);
		bool gaps = false;

		for (next = i; next < f->refs.count && f->refs.at[next].partition == partition; next++) {
			struct key_entry *entry = keytable_entry(&f->table, f->refs.at[next].entry);

			if (entry->at_fence == AT_NONE)
				entry->at_fence = (uint8_t)nothing_at(part, entry->fence_offset);
			gaps |= entry->at_fence == AT_GAP;
		}
		if (gaps && scan_aborted(f, (struct fence_refs){ f->refs.at + i, next - i }, partition, t) < 0)
			return -1;
	}
	return 0;
}

static bool is_stray(const struct key_entry *entry)
{
	return entry->fence_id != UNKNOWN && entry->places == NOBODY && !entry->elsewhere;
}

static void see_part(struct fold *f, const struct chunk_part *part)
{
	const struct chunk_view *view = part->view;

	for (size_t i = part->from; i < part->to; i++) {
		struct key key = { .bytes = view->key_bytes + view->key_at[i],
				   .size = view->key_at[i + 1] - view->key_at[i] };
		uint32_t entry;

		if (view->flags[i] & RECORD_NULL_KEY)
			continue;
		key.hash = key_hash(key.bytes, key.size);
		entry = keytable_find(&f->table, &key, NULL);
		if (entry != NOBODY && is_stray(keytable_entry(&f->table, entry)))
			keytable_entry(&f->table, entry)->elsewhere = true;
	}
}

static int see_places(struct fold *f, sqlite3_stmt *places, struct trouble *t)
{
	struct chunk_part part;
	int more, rows;

	while ((rows = db_step(places, t)) > 0) {
		struct chunk_place place = { sqlite3_column_int64(places, 0), sqlite3_column_int64(places, 1),
					     sqlite3_column_int(places, 2) ? CHUNK_ABORTED : CHUNK_COMMITTED };

		chunk_scan_range(f->scan, place, 0, INT64_MAX);
		while ((more = chunk_scan_next(f->scan, &part, t)) > 0)
			see_part(f, &part);
		if (more < 0 || run_stopped(f->run)) {
			sqlite3_reset(places);
			return more < 0 ? -1 : trouble_set(t, "stopped");
		}
	}
	return rows;
}

int fence_elsewhere(struct fold *f, struct trouble *t)
{
	sqlite3_stmt *places;
	bool strays = false;
	int result;

	for (size_t i = 0; i < f->table.entries.count && !strays; i++)
		strays = is_stray(keytable_entry(&f->table, (uint32_t)i));
	if (!strays || f->topic->incarnation_id == UNKNOWN)
		return 0;
	if (db_prepare(f->db, sql_queries_fold_elsewhere, &places, t) < 0)
		return -1;
	db_bind_int(places, 1, f->topic->incarnation_id);
	result = see_places(f, places, t);
	sqlite3_finalize(places);
	return result;
}

/* fold_write_state: what history demands of each sampled key, and the records around its rebases. */
#include "analyzer/fold_state.h"

#include <stdlib.h>

#include "analyzer/bulk.h"
#include "sql/db.h"
#include "sql/mem.h"
#include "sql/placer.h"
#include "sql/verdict.h"
#include "sql_data.h"

enum { ROWS_AHEAD = 16 };

#define X(name, word) [AT_##name] = word,
static const char *const at_fence_words[] = { AT_FENCE(X) };
#undef X

/* -1 stands for none where only offsets and partitions can be. */
static void bulk_offset(struct bulk_row *row, int64_t value)
{
	bulk_int(row, value < 0 ? UNKNOWN : value);
}

bool fold_is_at_home(const struct fold *f, const struct key_entry *entry)
{
	const struct key_place *place = entry->places == NOBODY ? NULL : keytable_place(&f->table, entry->places);

	return f->topic->fenced && entry->fence_id != UNKNOWN && place && place->legal == 0 && place->next == NOBODY;
}

/* What the places of one key say together. */
struct whole {
	int64_t records, legal, newest_ms, older_tombstone;
	const struct key_place *home, *older;
};

/* The older place that decides: with binding records, of the latest count. */
static bool decides(const struct key_place *place, const struct key_place *before)
{
	if (place->legal <= 0 || (place->binding_offset < 0 && place->tombstone_or_unsure < 0))
		return false;
	return !before || place->legal < before->legal;
}

static struct whole whole_of(const struct fold *f, const struct key_entry *entry)
{
	struct whole whole = { .newest_ms = UNKNOWN, .older_tombstone = -1 };

	for (uint32_t i = entry->places; i != NOBODY;) {
		const struct key_place *place = keytable_place(&f->table, i);

		whole.records += place->records;
		if (place->legal >= 0) {
			whole.legal++;
			if (place->last_ms > whole.newest_ms)
				whole.newest_ms = place->last_ms;
		}
		if (place->legal == 0)
			whole.home = place;
		if (decides(place, whole.older))
			whole.older = place;
		if (place->legal > 0 && place->tombstone_any > whole.older_tombstone)
			whole.older_tombstone = place->tombstone_any;
		i = place->next;
	}
	if (whole.older)
		whole.older_tombstone = whole.older->tombstone_any;
	return whole;
}

/* See fence_state.unproven. -1: none. */
static int64_t unproven(const struct fold *f, const struct key_entry *entry, uint32_t dividend)
{
	for (size_t i = 0; i < f->topic->count_n; i++) {
		int32_t count = f->topic->count[i];
		int32_t partition = count > 0 ? (int32_t)(dividend % (uint32_t)count) : -1;
		const struct fold_partition *part = fold_topic_part(f->topic, partition);

		if (partition < 0)
			continue;
		if (!part || !part->covered)
			return partition;
		if (!part->has_horizon && keytable_place_in(&f->table, entry, partition))
			return partition;
	}
	return -1;
}

/* legal: of the fence's partition; UNKNOWN. */
static void add_fence(struct bulk_row *row, const struct key_entry *entry, int64_t legal)
{
	bool met = entry->fence_ms != UNKNOWN;

	bulk_int(row, entry->fence_partition >= 0 ? legal : UNKNOWN);
	bulk_text(row, at_fence_words[entry->at_fence]);
	bulk_int(row, entry->fence_ms);
	bulk_int(row, met ? entry->fence_tombstone : UNKNOWN);
}

static void add_lost(struct bulk_row *row, const struct key_place *place)
{
	bool some = place && place->lost > 0;

	bulk_int(row, some ? place->lost : 0);
	bulk_int(row, some ? place->lost_offset : UNKNOWN);
	bulk_int(row, some ? place->lost_ms : UNKNOWN);
}

static void add_home(struct bulk_row *row, const struct key_place *home, bool all)
{
	bool binding = home && home->binding_offset >= 0;

	bulk_int(row, home ? home->records : 0);
	bulk_int(row, all ? home->first_offset : UNKNOWN);
	bulk_int(row, all ? home->last_offset : UNKNOWN);
	bulk_int(row, all ? home->first_ms : UNKNOWN);
	bulk_int(row, binding ? home->binding_offset : UNKNOWN);
	bulk_int(row, binding ? home->binding_ms : UNKNOWN);
	add_lost(row, home);
	bulk_offset(row, home ? home->tombstone_or_unsure : -1);
	bulk_offset(row, home ? home->tombstone_any : -1);
}

static void add_older(struct bulk_row *row, const struct whole *whole)
{
	const struct key_place *older = whole->older;
	bool binding = older && older->binding_offset >= 0;

	bulk_int(row, older ? older->partition : UNKNOWN);
	bulk_int(row, binding ? older->binding_offset : UNKNOWN);
	bulk_int(row, binding ? older->binding_ms : UNKNOWN);
	bulk_offset(row, older ? older->tombstone_or_unsure : -1);
	add_lost(row, older);
	bulk_offset(row, whole->older_tombstone);
}

static void add_value(struct bulk_row *row, const struct fold *f, uint32_t index)
{
	const struct key_entry *entry = keytable_entry(&f->table, index);
	const struct key_value *value = f->table.values.item ? keytable_value(&f->table, index) : NULL;
	bool counts = value && (f->topic->counts || f->topic->sums);

	bulk_int(row, counts ? value->applied : UNKNOWN);
	bulk_int(row, counts && f->topic->sums && !entry->no_number ? value->sum : UNKNOWN);
	bulk_int(row, value && f->topic->lasts && entry->fence_ms != UNKNOWN ? (int64_t)value->value_hash : UNKNOWN);
	bulk_int(row, counts ? value->rejected : UNKNOWN);
}

static size_t unlooked(const struct fold *f)
{
	return f->table.entries.count - f->looked_entries;
}

/*
 * Row index of fence_state: the keys that were not looked at, which were met after the samples were loaded, come first,
 * with ids below all others.
 */
static uint32_t entry_at(const struct fold *f, size_t index)
{
	return (uint32_t)(index < unlooked(f) ? f->looked_entries + index : index - unlooked(f));
}

static int64_t unlooked_id(const struct fold *f, size_t index)
{
	return f->lowest_state - (int64_t)unlooked(f) + (int64_t)index;
}

static void fill_unlooked(void *context, size_t index, struct bulk_row *row)
{
	const struct fold *f = context;
	const struct key_entry *entry = keytable_entry(&f->table, entry_at(f, index));

	bulk_int(row, unlooked_id(f, index));
	bulk_int(row, f->topic->topic_id);
	bulk_int(row, entry->hash);
	bulk_blob(row, entry->key, entry->key_size);
}

/* The places of a row to come: they lie anywhere. */
static void prefetch_places(const struct fold *f, size_t index)
{
	const struct key_entry *entry =
		index < f->table.entries.count ? keytable_entry(&f->table, entry_at(f, index)) : NULL;

	if (!entry || entry->places == NOBODY)
		return;
	__builtin_prefetch(keytable_place(&f->table, entry->places));
	__builtin_prefetch((const char *)keytable_place(&f->table, entry->places) + 64);
}

static void fill_fence_state(void *context, size_t index, struct bulk_row *row)
{
	const struct fold *f = context;
	uint32_t at = entry_at(f, index);
	const struct key_entry *entry = keytable_entry(&f->table, at);
	struct whole whole = whole_of(f, entry);
	uint32_t dividend = 0;
	bool has_home = f->topic->count[0] > 0 &&
			placer_dividend(&f->topic->placer, entry->key, entry->key_size, &dividend);
	int32_t ordinal = has_home ? fold_topic_ordinal(f->topic, dividend, entry->fence_partition) : -1;

	prefetch_places(f, index + ROWS_AHEAD);
	bulk_int(row, index < unlooked(f) ? unlooked_id(f, index) : entry->fence_id);
	bulk_int(row, f->topic->topic_id);
	bulk_int(row, has_home ? (int64_t)(dividend % (uint32_t)f->topic->count[0]) : UNKNOWN);
	bulk_int(row, whole.records);
	bulk_int(row, whole.legal);
	bulk_int(row, entry->rebases);
	bulk_int(row, whole.newest_ms);
	bulk_offset(row, has_home ? unproven(f, entry, dividend) : -1);
	bulk_int(row, entry->elsewhere);
	add_fence(row, entry, has_home ? (int64_t)legal_of(ordinal) : UNKNOWN);
	add_home(row, whole.home, fold_is_at_home(f, entry));
	add_older(row, &whole);
	add_value(row, f, at);
}

static int read_lowest_state(struct fold *f, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int more;

	if (db_prepare(f->db, sql_queries_fold_lowest_state, &stmt, t) < 0)
		return -1;
	more = db_step(stmt, t);
	f->lowest_state = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return more < 0 ? -1 : 0;
}

/* Ids rise from row to row, so that none has to be searched for its place. */
static int write_fence_states(struct fold *f, struct trouble *t)
{
	struct bulk_source missed = { unlooked(f), fill_unlooked, f },
			   all = { f->table.entries.count, fill_fence_state, f };

	if (read_lowest_state(f, t) < 0 || bulk_insert(f->db, sql_queries_fold_unlooked_key, &missed, t) < 0)
		return -1;
	return bulk_insert(f->db, sql_queries_fold_fence_state, &all, t);
}

/* A step, and where it stands among all. */
struct step_at {
	int64_t state_id;
	size_t index;
};

static int by_state(const void *a, const void *b)
{
	const struct step_at *x = a, *y = b;

	if (x->state_id != y->state_id)
		return x->state_id < y->state_id ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

struct step_rows {
	const struct fold *f;
	struct step_at *at;
};

static void fill_step(void *context, size_t index, struct bulk_row *row)
{
	const struct step_rows *rows = context;
	const struct rebase_step *step = pool_at(&rows->f->steps, rows->at[index].index);

	bulk_int(row, rows->at[index].state_id);
	bulk_int(row, (int64_t)rows->at[index].index);
	bulk_int(row, rows->f->topic->topic_id);
	bulk_int(row, step->partition);
	bulk_int(row, step->offset);
	bulk_int(row, step->ms);
	bulk_text(row, verdict_name((enum verdict)step->verdict));
}

static int write_steps(struct fold *f, struct trouble *t)
{
	struct step_rows rows = { f, xarray(f->steps.count, sizeof(*rows.at)) };
	struct bulk_source source = { f->steps.count, fill_step, &rows };
	int result;

	for (size_t i = 0; i < f->steps.count; i++) {
		const struct rebase_step *step = pool_at(&f->steps, i);
		const struct key_entry *entry = keytable_entry(&f->table, step->entry);

		rows.at[i].index = i;
		rows.at[i].state_id = step->entry < f->looked_entries ? entry->fence_id
								      : unlooked_id(f, step->entry - f->looked_entries);
	}
	if (f->steps.count)
		qsort(rows.at, f->steps.count, sizeof(*rows.at), by_state);
	result = bulk_insert(f->db, sql_queries_fold_rebase_step, &source, t);
	free(rows.at);
	return result;
}

int fold_write_states(struct fold *f, struct trouble *t)
{
	return write_fence_states(f, t) < 0 ? -1 : write_steps(f, t);
}

/* fold_take: the records of sampled keys, each into the place of its key. */
#include "analyzer/fold_state.h"

enum { AHEAD_PLACE = 16, AHEAD_KEY = 8 }; /* records */

/* One record of the chunk at hand, of a key that is sampled. */
struct item {
	const struct chunk_view *view;
	size_t i;
	int64_t offset, ms;
	bool tombstone;
	struct taken *taken;     /* where it is counted */
};

/* state = count, sum: the records that the stored number is made of. */
static void apply(struct fold *f, const struct key_place *place, const struct item *item)
{
	const struct chunk_view *view = item->view;
	struct key_entry *entry = keytable_entry(&f->table, place->entry);
	struct key_value *value = keytable_value(&f->table, place->entry);

	value->applied++;
	if (!f->topic->sums)
		return;
	if (!view->number || !(view->flags[item->i] & RECORD_NUMBER) ||
	    __builtin_add_overflow(value->sum, view->number[item->i], &value->sum))
		entry->no_number = true;
}

static void begin_anew(struct fold *f, const struct key_place *place)
{
	keytable_entry(&f->table, place->entry)->no_number = false;
	*keytable_value(&f->table, place->entry) = (struct key_value){ 0 };
}

static void bind(const struct fold_partition *part, struct key_place *place, const struct item *item)
{
	if (!horizon_has(part->horizon, item->offset))
		return;
	if (item->offset >= part->certain[place->legal]) {
		place->tombstone_or_unsure = item->offset;
		return;
	}
	place->binding_offset = item->offset;
	place->binding_ms = item->ms;
	if (item->offset <= place->fence_offset || place->lost++ > 0)
		return;
	place->lost_offset = item->offset;
	place->lost_ms = item->ms;
}

/* Whether a record in a legal partition is among those that the stored number is made of. */
static bool is_counted(const struct fold *f, const struct key_place *place, const struct item *item)
{
	return (f->topic->counts || f->topic->sums) && item->offset <= place->fence_offset &&
	       item->offset >= f->part->from;
}

/*
 * A record that the DLQ names. It binds nothing, but it may have been applied all the same: by a worker that was
 * repaired after a crash, or because the DLQ means a record of an earlier topic.
 */
static void take_rejected(struct fold *f, struct key_place *place, const struct item *item)
{
	item->taken->refused++;
	if (f->topic->delete_tombstones && item->tombstone)
		place->tombstone_any = item->offset;
	if (is_counted(f, place, item))
		keytable_value(&f->table, place->entry)->rejected++;
}

/* A record that the contract applies, or a tombstone, in a legal partition. */
static void take_legal(struct fold *f, struct key_place *place, const struct item *item)
{
	bool counted = is_counted(f, place, item);

	if (item->tombstone && f->topic->delete_tombstones) {
		place->tombstone_any = item->offset;
		if (place->legal == 0 && horizon_has(f->part->horizon, item->offset))
			place->tombstone_or_unsure = item->offset;
		if (counted)
			begin_anew(f, place);
		item->taken->accepted++;
		return;
	}
	if (item->tombstone && f->topic->ignore_tombstones) {
		item->taken->ignored++;
		return;
	}
	item->taken->accepted++;
	if (counted)
		apply(f, place, item);
	bind(f->part, place, item);
}

static void take_one(struct fold *f, struct key_place *place, const struct item *item, enum legal legal)
{
	if (place->entry == NOBODY)
		return;
	if (place->records++ == 0) {
		place->first_offset = item->offset;
		place->first_ms = place->last_ms = item->ms;
	}
	place->fell |= item->ms < place->last_ms;
	place->last_offset = item->offset;
	place->last_ms = item->ms;
	if (place->legal < 0 || legal == LEGAL_STALE)
		item->taken->refused++;
	else if (f->rejected_here.at < f->rejected_here.end && rejected_next(&f->rejected_here, item->offset))
		take_rejected(f, place, item);
	else
		take_legal(f, place, item);
}

static size_t list_sampled(const struct fold *f, const struct placed *placed)
{
	size_t n = 0;

	for (size_t i = 0; i < placed->count; i++) {
		f->some[n] = (uint32_t)i;
		n += f->place[i] != NOBODY;
	}
	return n;
}

/* The place of a record to come; a little later, the bytes of its key. */
static inline void prefetch(const struct fold *f, size_t at, size_t n)
{
	const struct key_place *place;

	if (at + AHEAD_PLACE >= n)
		return;
	place = keytable_place(&f->table, f->place[f->some[at + AHEAD_PLACE]]);
	__builtin_prefetch(place);
	__builtin_prefetch((const char *)place + 64);
	__builtin_prefetch(keytable_place(&f->table, f->place[f->some[at + AHEAD_KEY]])->key);
}

void fold_take(struct fold *f, const struct placed *placed)
{
	const struct chunk_view *view = placed->part.view;
	size_t n = list_sampled(f, placed);

	for (size_t at = 0; at < n; at++) {
		size_t index = f->some[at], i = placed->record[index];
		struct item item = { view, i, view->offset[i], view->timestamp_ms[i],
				     view->flags[i] & RECORD_TOMBSTONE,
				     &f->taken[__builtin_clzll((uint64_t)placed->hash[index] | 1)] };
		uint32_t size, place = f->place[index];
		const uint8_t *key = placed_key(placed, index, &size);

		prefetch(f, at, n);
		if (!place_is(keytable_place(&f->table, place), key, size))
			place = fold_find_exactly(f, placed, index);
		if (place != NOBODY)
			take_one(f, keytable_place(&f->table, place), &item, placed->legal[index]);
	}
}

/*
 * fold_find: the keys of a chunk's records among those that the partition has shown so far. This is where the pass over
 * the records waits for memory: it is asked for some records ahead of its use.
 */
#include "analyzer/fold_state.h"

#include "sql/faultpoint.h"

enum { AHEAD_SLOT = 24, AHEAD_TABLE = 12, AHEAD_ENTRY = 6 }; /* records */

static struct key key_of(const struct placed *placed, size_t index)
{
	struct key key = { .hash = placed->hash[index] };

	key.bytes = placed_key(placed, index, &key.size);
	return key;
}

static bool filter_has(const struct fold *f, int64_t hash)
{
	size_t bit = (size_t)hash & (f->filter_bits - 1);

	return f->filter[bit / 64] >> (bit % 64) & 1;
}

/* Whether a key counts as recent by the time of this record; those that were looked at are in the table already. */
static bool is_recent(const struct fold *f, const struct placed *placed, size_t index)
{
	return placed->hash[index] < f->topic->recent_threshold &&
	       placed->part.view->timestamp_ms[placed->record[index]] >= f->topic->recent_from_ms;
}

/* The place of a key that is met for the first time in this partition, or NOBODY where it is not sampled. */
static uint32_t new_place(struct fold *f, const struct placed *placed, size_t index)
{
	bool sampled = placed->hash[index] < f->topic->threshold || is_recent(f, placed, index);
	uint32_t entry = NOBODY, place;
	bool same_hash = false;
	struct key key;

	if (!sampled && !filter_has(f, placed->hash[index]))
		return NOBODY;
	key = key_of(placed, index);
	entry = keytable_find(&f->table, &key, &same_hash);
	if (entry == NOBODY && sampled)
		entry = keytable_add(&f->table, &key);
	else if (entry == NOBODY && !same_hash)
		return NOBODY;
	place = keytable_add_place(&f->table, entry, &key, f->part->partition);
	keytable_place(&f->table, place)->legal =
		placed->legal[index] == LEGAL_STALE ? -1 : placed->ordinal[index];
	f->too_large = FAULT(FOLD_FULL) || keytable_bytes(&f->table) > f->budget;
	return place;
}

/* Fills the free slot at which the search for the record's key ended. */
static uint32_t first_time(struct fold *f, const struct placed *placed, size_t index, struct seen_slot *slot)
{
	struct seen_slot new = { placed->hash[index], new_place(f, placed, index), placed->cell[index] + 1 };

	if (new.place != NOBODY || seen_counts(&f->seen, new.hash))
		seen_fill(&f->seen, slot, &new);
	return new.place;
}

/* The slot is that of a key, sampled or not, which the record has as well. */
static uint32_t once_more(struct fold *f, const struct placed *placed, size_t index, struct seen_slot *slot)
{
	if (slot->place == NOBODY && is_recent(f, placed, index))
		slot->place = new_place(f, placed, index);
	if (placed->legal[index] == LEGAL_STALE)
		slot->mark = placed->cell[index] + 1;
	return slot->place;
}

uint32_t fold_find_exactly(struct fold *f, const struct placed *placed, size_t index)
{
	struct key key = key_of(placed, index);
	struct seen_slot *slot = seen_first(&f->seen, key.hash);

	for (; slot->mark; slot = seen_next(&f->seen, slot)) {
		if (slot->hash != key.hash)
			continue;
		if (slot->place == NOBODY || place_is(keytable_place(&f->table, slot->place), key.bytes, key.size))
			return once_more(f, placed, index, slot);
	}
	return first_time(f, placed, index, slot);
}

/* By hash alone, but where the slot may have to be marked anew: fold_take looks at the bytes of what is found. */
static uint32_t find_by_hash(struct fold *f, const struct placed *placed, size_t index)
{
	int64_t hash = placed->hash[index];
	struct seen_slot *slot = seen_first(&f->seen, hash);

	if (placed->legal[index] == LEGAL_STALE)
		return fold_find_exactly(f, placed, index);
	while (slot->mark && slot->hash != hash)
		slot = seen_next(&f->seen, slot);
	if (!slot->mark)
		return first_time(f, placed, index, slot);
	return hash < f->topic->recent_threshold ? once_more(f, placed, index, slot) : slot->place;
}

/* The slot; for a key that is new here, where the table has its entry; and the entry. */
static inline void prefetch(const struct fold *f, const struct placed *placed, size_t index)
{
	const int64_t *hash = &placed->hash[index];

	if (index + AHEAD_SLOT >= placed->count)
		return;
	__builtin_prefetch(seen_first(&f->seen, hash[AHEAD_SLOT]));
	if (hash[AHEAD_TABLE] < f->topic->threshold && !seen_first(&f->seen, hash[AHEAD_TABLE])->mark)
		__builtin_prefetch(keytable_slot(&f->table, hash[AHEAD_TABLE]));
	if (hash[AHEAD_ENTRY] < f->topic->threshold && !seen_first(&f->seen, hash[AHEAD_ENTRY])->mark &&
	    *keytable_slot(&f->table, hash[AHEAD_ENTRY]))
		__builtin_prefetch(keytable_entry(&f->table, *keytable_slot(&f->table, hash[AHEAD_ENTRY]) - 1));
}

void fold_find(struct fold *f, const struct placed *placed)
{
	for (size_t i = 0; i < placed->count && !f->too_large; i++) {
		prefetch(f, placed, i);
		f->place[i] = find_by_hash(f, placed, i);
		f->too_large |= f->seen.full;
	}
}

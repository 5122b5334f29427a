/*
 * fold_again: the passes over a partition that follow the first, where they are needed: for distinct keys that there
 * was no room for, and for keys that may be hot.
 */
#include "analyzer/fold_state.h"

static void count_keys(struct fold *f)
{
	for (size_t i = 0; i < f->seen.slot_count; i++) {
		const struct seen_slot *slot = &f->seen.slots[i];

		if (slot->mark && seen_counts(&f->seen, slot->hash))
			f->placement.keys[slot->mark - 1]++;
	}
}

static void see_again(struct fold *f, const struct placed *placed)
{
	for (size_t i = 0; i < placed->count; i++) {
		struct seen_slot *slot = seen_first(&f->seen, placed->hash[i]);
		struct seen_slot new = { placed->hash[i], NOBODY, placed->cell[i] + 1 };

		if (!seen_counts(&f->seen, new.hash))
			continue;
		while (slot->mark && slot->hash != new.hash)
			slot = seen_next(&f->seen, slot);
		if (!slot->mark)
			seen_fill(&f->seen, slot, &new);
		else if (placed->legal[i] == LEGAL_STALE)
			slot->mark = new.mark;
	}
}

/* Reads f->part once more. 0 or -1. */
static int pass(struct fold *f, void (*take)(struct fold *f, const struct placed *placed), struct trouble *t)
{
	const struct placed *placed;
	int more;

	feed_begin(f->feed, f->part, (struct feed_taker){ 0 });
	while ((more = feed_next(f->feed, &placed, t)) > 0) {
		if (run_stopped(f->run)) {
			more = trouble_set(t, "stopped");
			break;
		}
		take(f, placed);
	}
	feed_end(f->feed);
	return more;
}

int fold_placement(struct fold *f, struct trouble *t)
{
	if (!f->placement.cells)
		return 0;
	count_keys(f);
	while (f->seen.bound < SEEN_ALL) {
		seen_begin(&f->seen, f->seen.bound);
		if (pass(f, see_again, t) < 0)
			return -1;
		count_keys(f);
	}
	return 0;
}

static void count_hot(struct fold *f, const struct placed *placed)
{
	for (size_t i = 0; i < placed->count; i++) {
		uint32_t size;
		const uint8_t *key = placed_key(placed, i, &size);

		hot_exact(&f->ahead.hot, placed->hash[i], key, size);
	}
}

int fold_hot(struct fold *f, struct trouble *t)
{
	if (f->topic->hot_share == UNKNOWN || f->count.records < HOT_RECORDS_LEAST ||
	    hot_candidates(&f->ahead.hot, (double)f->topic->hot_share / 1000) == 0) {
		hot_begin(&f->ahead.hot);
		return 0;
	}
	return pass(f, count_hot, t);
}

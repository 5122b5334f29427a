/*
 * fold_again: the passes over a partition that follow the first, where they are needed: for distinct keys that there
 * was no room for, and for keys that may be hot.
 */
#include "analyzer/fold_item.h"

#include "sql/keyhash.h"

static void count_keys(struct fold *f)
{
	for (size_t i = 0; i < f->seen.slot_count; i++) {
		const struct seen_slot *slot = &f->seen.slots[i];

		if (slot->mark && seen_counts(&f->seen, slot->hash))
			f->placement.keys[slot->mark - 1]++;
	}
}

static void see_part(struct fold *f, const struct chunk_part *part)
{
	fold_hash_part(f, part);
	for (size_t i = part->from; i < part->to; i++) {
		int64_t hash = f->hash[i];
		struct item item = { .view = part->view, .i = i };
		struct seen_slot *slot = seen_first(&f->seen, hash);

		if ((part->view->flags[i] & RECORD_NULL_KEY) || !seen_counts(&f->seen, hash))
			continue;
		while (slot->mark && slot->hash != hash)
			slot = seen_next(&f->seen, slot);
		place_item(f, &item);
		if (slot->mark)
			take_slot(f, slot, &item);
		else
			seen_fill(&f->seen, slot,
				  &(struct seen_slot){ hash, NOBODY, (uint32_t)cell_of(f, &item) + 1 });
	}
}

int fold_placement(struct fold *f, struct trouble *t)
{
	struct chunk_place place = { f->topic->incarnation_id, f->part->partition, CHUNK_COMMITTED };
	struct chunk_part part;
	int more = 0;

	if (!f->placement.cells)
		return 0;
	count_keys(f);
	while (more == 0 && f->seen.bound < SEEN_ALL) {
		seen_begin(&f->seen, f->seen.bound);
		chunk_scan_range(f->scan, place, 0, f->part->indexed_end);
		while ((more = chunk_scan_next(f->scan, &part, t)) > 0) {
			if (run_stopped(f->run))
				return trouble_set(t, "stopped");
			see_part(f, &part);
		}
		count_keys(f);
	}
	return more;
}

static void count_hot(struct fold *f, const struct chunk_part *part)
{
	const struct chunk_view *view = part->view;

	for (size_t i = part->from; i < part->to; i++) {
		const uint8_t *key = view->key_bytes + view->key_at[i];
		size_t size = view->key_at[i + 1] - view->key_at[i];

		if (!(view->flags[i] & RECORD_NULL_KEY))
			hot_exact(&f->hot, key_hash(key, size), key, (uint32_t)size);
	}
}

int fold_hot(struct fold *f, struct trouble *t)
{
	struct chunk_place place = { f->topic->incarnation_id, f->part->partition, CHUNK_COMMITTED };
	struct chunk_part part;
	int more;

	if (f->topic->hot_share == UNKNOWN || f->count.records < HOT_RECORDS_LEAST ||
	    hot_candidates(&f->hot, (double)f->topic->hot_share / 1000) == 0) {
		hot_begin(&f->hot);
		return 0;
	}
	chunk_scan_range(f->scan, place, 0, f->part->indexed_end);
	while ((more = chunk_scan_next(f->scan, &part, t)) > 0) {
		if (run_stopped(f->run))
			return trouble_set(t, "stopped");
		count_hot(f, &part);
	}
	return more;
}

/*
 * fold_item: one record in the passes over a partition, and what its partition is to its key. Shared by fold_stream.c
 * and fold_again.c.
 */
#ifndef ANALYZER_FOLD_ITEM_H
#define ANALYZER_FOLD_ITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/fold_state.h"

/* One record of the chunk at hand. */
struct item {
	const struct chunk_view *view;
	size_t i;
	struct key key;
	uint32_t home;
	int32_t ordinal;
	enum legal legal;
	bool homeless;
};

/* The home of the record's key, and what its partition is to it. */
static inline void place_item(const struct fold *f, struct item *item)
{
	const struct fold_topic *topic = f->topic;
	uint32_t dividend = f->dividend[item->i];

	item->homeless = f->homeless[item->i];
	if (item->homeless) {
		item->ordinal = -1;
		item->legal = LEGAL_NOT;
		return;
	}
	item->home = topic->count[0] > 0 ? dividend % (uint32_t)topic->count[0] : 0;
	item->ordinal = fold_topic_ordinal(topic, dividend, f->part->partition);
	item->legal = legal_of(item->ordinal);
	if (item->ordinal > 0 && item->view->offset[item->i] >= f->part->stale_from[item->ordinal])
		item->legal = LEGAL_STALE;
}

static inline size_t cell_of(const struct fold *f, const struct item *item)
{
	return item->homeless || !f->placement.cells ? f->placement.cells : item->home * LEGAL_COUNT + item->legal;
}

/* The record is of the key that the slot stands for. */
static inline void take_slot(const struct fold *f, struct seen_slot *slot, const struct item *item)
{
	if (item->legal == LEGAL_STALE)
		slot->mark = (uint32_t)cell_of(f, item) + 1;
}

/* Fills f->hash, f->dividend and f->homeless for the records of the part. */
void fold_hash_part(struct fold *f, const struct chunk_part *part);

#endif

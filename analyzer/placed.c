/* placed: column by column, in loops that look at nothing else. */
#define XXH_INLINE_ALL /* a key is short: the call costs as much as the hash */
#include "analyzer/placed.h"

#include <stdbool.h>
#include <stdlib.h>

#include "sql/keyhash.h"
#include "sql/mem.h"
#include "sql/placer.h"

void placed_init(struct placed *placed)
{
	*placed = (struct placed){
		.record = xarray(CHUNK_RECORDS_MAX, sizeof(*placed->record)),
		.hash = xarray(CHUNK_RECORDS_MAX, sizeof(*placed->hash)),
		.cell = xarray(CHUNK_RECORDS_MAX, sizeof(*placed->cell)),
		.ordinal = xarray(CHUNK_RECORDS_MAX, sizeof(*placed->ordinal)),
		.legal = xarray(CHUNK_RECORDS_MAX, sizeof(*placed->legal)),
		.strays = xarray(CHUNK_RECORDS_MAX, sizeof(*placed->strays)),
	};
}

void placed_release(struct placed *placed)
{
	free(placed->record);
	free(placed->hash);
	free(placed->cell);
	free(placed->ordinal);
	free(placed->legal);
	free(placed->strays);
	*placed = (struct placed){ 0 };
}

static void list_keyed(struct placed *placed)
{
	const uint8_t *flags = placed->part.view->flags;
	uint32_t *record = placed->record;
	size_t count = 0, no_part = 0;

	for (size_t i = placed->part.from; i < placed->part.to; i++) {
		record[count] = (uint32_t)i;
		count += !(flags[i] & RECORD_NULL_KEY);
		no_part += !!(flags[i] & RECORD_NO_PART);
	}
	placed->count = count;
	placed->no_part = no_part;
	placed->null_keys = placed->part.to - placed->part.from - count - no_part;
}

/* The hash of each key, and for now its dividend as the cell, and as legal whether it has a home. */
static void hash_keys(struct placed *placed, const struct placer *placer)
{
	const struct chunk_view *view = placed->part.view;
	bool plain = placer_is_plain(placer);

	for (size_t i = 0, count = placed->count; i < count; i++) {
		uint32_t at = view->key_at[placed->record[i]], size = view->key_at[placed->record[i] + 1] - at;
		const uint8_t *key = view->key_bytes + at;

		placed->hash[i] = key_hash(key, size);
		placed->legal[i] = 1;
		if (plain)
			placed->cell[i] = murmur2(key, size) & 0x7fffffff;
		else
			placed->legal[i] = placer_dividend(placer, key, size, &placed->cell[i]);
	}
}

/* The home in the present count alone. */
static void place_by_one_count(struct placed *placed, const struct placed_in *in)
{
	uint32_t partitions = (uint32_t)in->topic->count[0], partition = (uint32_t)in->part->partition;
	uint32_t *cell = placed->cell;
	uint8_t *legal = placed->legal;
	int16_t *ordinal = placed->ordinal;
	size_t homed = 0;

	for (size_t i = 0, count = placed->count; i < count; i++) {
		uint32_t home = cell[i] % partitions, has_home = legal[i];
		uint32_t at_home = has_home & (home == partition);

		homed += has_home;
		ordinal[i] = (int16_t)at_home - 1;
		legal[i] = at_home ? LEGAL_HOME : LEGAL_NOT;
		cell[i] = has_home ? home * LEGAL_COUNT + legal[i] : (uint32_t)in->cells;
	}
	placed->homed = homed;
}

/* What this partition is to a key of that dividend under the counts that the topic has had. */
static enum legal legal_here(struct placed *placed, const struct placed_in *in, size_t i, uint32_t dividend)
{
	int32_t ordinal = fold_topic_ordinal(in->topic, dividend, in->part->partition);

	placed->ordinal[i] = (int16_t)ordinal;
	if (ordinal > 0 && placed->part.view->offset[placed->record[i]] >= in->part->stale_from[ordinal])
		return LEGAL_STALE;
	return legal_of(ordinal);
}

static void place_by_all_counts(struct placed *placed, const struct placed_in *in)
{
	placed->homed = 0;
	for (size_t i = 0; i < placed->count; i++) {
		uint32_t dividend = placed->cell[i];

		if (!placed->legal[i]) {
			placed->ordinal[i] = -1;
			placed->legal[i] = LEGAL_NOT;
			placed->cell[i] = (uint32_t)in->cells;
			continue;
		}
		placed->homed++;
		placed->legal[i] = (uint8_t)legal_here(placed, in, i, dividend);
		placed->cell[i] = in->cells ? dividend % (uint32_t)in->topic->count[0] * LEGAL_COUNT + placed->legal[i]
					    : 0;
	}
}

static bool has_home(const struct placed *placed, const struct placed_in *in, size_t i)
{
	return placed->cell[i] != in->cells;
}

static bool is_off_home(const struct placed *placed, const struct placed_in *in, size_t i)
{
	return has_home(placed, in, i) && placed->legal[i] == LEGAL_NOT;
}

/* From both ends; there are records off home. */
static void mark_ends(struct placed *placed, const struct placed_in *in)
{
	struct placed_mark first = { 0, 0 }, last = { placed->count, placed->homed };

	for (; !is_off_home(placed, in, first.index); first.index++)
		first.homed += has_home(placed, in, first.index);
	do
		last.homed -= has_home(placed, in, --last.index);
	while (!is_off_home(placed, in, last.index));
	placed->first = first;
	placed->last = last;
}

static void list_strays(struct placed *placed, const struct placed_in *in)
{
	const uint8_t *legal = placed->legal;
	const uint32_t *cell = placed->cell;
	uint32_t *strays = placed->strays;
	size_t n = 0, off_home = 0;

	for (size_t i = 0, count = in->cells ? placed->count : 0; i < count; i++) {
		uint32_t homed = cell[i] != in->cells;

		strays[n] = (uint32_t)i;
		n += homed & (legal[i] == LEGAL_NOT || legal[i] == LEGAL_STALE);
		off_home += homed & (legal[i] == LEGAL_NOT);
	}
	placed->stray_n = n;
	placed->off_home = off_home;
	if (off_home)
		mark_ends(placed, in);
}

void placed_fill(struct placed *placed, const struct placed_in *in, const struct chunk_part *part)
{
	placed->part = *part;
	list_keyed(placed);
	hash_keys(placed, &in->topic->placer);
	if (in->topic->count_n == 1 && in->cells)
		place_by_one_count(placed, in);
	else
		place_by_all_counts(placed, in);
	list_strays(placed, in);
}

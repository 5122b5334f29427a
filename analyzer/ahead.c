/* ahead: chunk by chunk, and each chunk in steps that look at one thing for all of its records. */
#include "analyzer/ahead.h"

#include <stdlib.h>

#include "sql/mem.h"

enum { AHEAD_SLOT = 16, AHEAD_KEY = 8 }; /* strays */

void ahead_init(struct ahead *ahead, const struct placement *placement)
{
	*ahead = (struct ahead){ .placement = placement,
				 .some = xarray(CHUNK_RECORDS_MAX, sizeof(*ahead->some)) };
}

void ahead_release(struct ahead *ahead)
{
	offhome_release(&ahead->offhome);
	hot_release(&ahead->hot);
	free(ahead->some);
}

void ahead_begin(struct ahead *ahead, int32_t partition)
{
	ahead->count = (struct ahead_count){ 0 };
	hot_begin(&ahead->hot);
	offhome_begin(&ahead->offhome, partition);
	for (size_t i = 0; i <= ahead->placement->cells; i++)
		ahead->placement->records[i] = 0;
}

static void count_hot(struct ahead *ahead, const struct placed *placed)
{
	const struct chunk_view *view = placed->part.view;
	size_t n = 0;

	for (size_t i = 0; i < placed->count; i++) {
		ahead->some[n] = (uint32_t)i;
		n += hot_takes(view->offset[placed->record[i]]);
	}
	for (size_t i = 0; i < n; i++)
		hot_add(&ahead->hot, placed->hash[ahead->some[i]]);
}

static void count_off_home(struct ahead_count *count, const struct placed *placed)
{
	const struct chunk_view *view = placed->part.view;

	if (placed->off_home) {
		uint32_t first = placed->record[placed->first.index], last = placed->record[placed->last.index];

		if (count->off_home == 0) {
			count->off_home_first = view->offset[first];
			count->off_home_first_ms = view->timestamp_ms[first];
			count->homed_first = count->homed + (int64_t)placed->first.homed;
		}
		count->off_home_last = view->offset[last];
		count->off_home_last_ms = view->timestamp_ms[last];
		count->homed_last = count->homed + (int64_t)placed->last.homed;
		count->off_home += (int64_t)placed->off_home;
	}
	count->homed += (int64_t)placed->homed;
}

static void count_placed(struct ahead *ahead, const struct placed *placed)
{
	struct ahead_count *count = &ahead->count;

	for (size_t i = 0; i < placed->count; i++)
		ahead->placement->records[placed->cell[i]]++;
	count_off_home(count, placed);
	count->homeless += (int64_t)(placed->count - placed->homed + placed->no_part);
	count->null_keys += (int64_t)placed->null_keys;
	count->keyed += (int64_t)placed->count;
}

/* The strays whose keys may be kept. */
static size_t list_strays(struct ahead *ahead, const struct placed *placed)
{
	size_t n = 0;

	for (size_t i = 0; i < placed->stray_n; i++) {
		ahead->some[n] = placed->strays[i];
		n += offhome_takes(&ahead->offhome, placed->hash[placed->strays[i]]);
	}
	return n;
}

static void take_strays(struct ahead *ahead, const struct placed *placed)
{
	const struct chunk_view *view = placed->part.view;
	size_t n = list_strays(ahead, placed);

	for (size_t at = 0; at < n; at++) {
		size_t index = ahead->some[at], i = placed->record[index];
		struct offhome_record record = { view->offset[i], view->timestamp_ms[i],
						 (int32_t)placed_home(placed, index),
						 placed->legal[index] == LEGAL_STALE };
		struct key key = { .hash = placed->hash[index] };

		if (at + AHEAD_SLOT < n) {
			offhome_prefetch_slot(&ahead->offhome, placed->hash[ahead->some[at + AHEAD_SLOT]]);
			offhome_prefetch_key(&ahead->offhome, placed->hash[ahead->some[at + AHEAD_KEY]]);
		}
		key.bytes = placed_key(placed, index, &key.size);
		offhome_add(&ahead->offhome, &key, &record);
	}
}

void ahead_take(void *context, const struct placed *placed)
{
	struct ahead *ahead = context;

	count_placed(ahead, placed);
	count_hot(ahead, placed);
	take_strays(ahead, placed);
}

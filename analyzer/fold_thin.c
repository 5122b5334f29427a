/* fold_thin: the sample of a topic without fences, whose keys are known only as the records show them. */
#include "analyzer/fold_state.h"

#include <stdlib.h>

#include "sql/mem.h"

static size_t entries_below(const struct fold *f, int64_t threshold)
{
	size_t n = 0;

	for (size_t i = 0; i < f->table.entries.count; i++)
		n += keytable_entry(&f->table, (uint32_t)i)->hash < threshold;
	return n;
}

/* Powers of two: then what was counted of the keys that go is in elements of f->taken that hold nothing else. */
static int64_t next_threshold(int64_t threshold)
{
	int64_t half = INT64_C(1) << 62;

	while (half >= threshold)
		half /= 2;
	return half;
}

static void forget_taken(struct fold *f)
{
	for (int clear = 0; clear < 64; clear++)
		if (clear < __builtin_clzll((uint64_t)f->topic->threshold - 1))
			f->taken[clear] = (struct taken){ 0 };
}

static void forget_places(struct fold *f, size_t count, const uint32_t *map, size_t places)
{
	size_t part = 0;

	for (size_t i = 0; i < count; i++)
		if (f->place[i] != NOBODY)
			f->place[i] = map[f->place[i]];
	for (size_t i = 0; i < f->seen.slot_count; i++)
		if (f->seen.slots[i].mark && f->seen.slots[i].place != NOBODY)
			f->seen.slots[i].place = map[f->seen.slots[i].place];
	for (size_t i = 0, kept = 0; i <= places; i++) {
		for (; part < f->topic->part_n && &f->topic->parts[part] <= f->part && f->first_place[part] == i; part++)
			f->first_place[part] = kept;
		kept += i < places && map[i] != NOBODY;
	}
}

void fold_thin(struct fold *f, size_t count)
{
	size_t places = f->table.places.count;
	uint32_t *map;

	if (f->topic->fenced || f->table.entries.count <= UNFENCED_KEYS)
		return;
	do
		f->topic->threshold = next_threshold(f->topic->threshold);
	while (entries_below(f, f->topic->threshold) > UNFENCED_KEYS);
	/* Recent keys are sampled like the others then, for all of them may be recent. */
	if (f->topic->recent_threshold > f->topic->threshold)
		f->topic->recent_threshold = f->topic->threshold;
	map = xarray(places, sizeof(*map));
	keytable_keep_below(&f->table, f->topic->threshold, map);
	forget_places(f, count, map, places);
	forget_taken(f);
	free(map);
}

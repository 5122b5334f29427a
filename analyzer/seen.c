/* seen: open addressing, at most two thirds full, in a fixed budget. */
#include "analyzer/seen.h"

#include <stdlib.h>
#include <string.h>

#include "sql/mem.h"

enum { SLOTS_FIRST = 4096 };

void seen_init(struct seen *seen, size_t bytes)
{
	size_t limit = SLOTS_FIRST;

	/* While it grows, the old slots stand beside the new ones. */
	while (limit * 2 * sizeof(struct seen_slot) * 3 / 2 <= bytes)
		limit *= 2;
	*seen = (struct seen){ .slot_count = SLOTS_FIRST, .limit = limit };
	seen->slots = xarray(SLOTS_FIRST, sizeof(*seen->slots));
	seen_begin(seen, 0);
}

void seen_release(struct seen *seen)
{
	free(seen->slots);
	seen->slots = NULL;
}

void seen_begin(struct seen *seen, int64_t from)
{
	/* One large partition must not make a thousand small ones slow. */
	if (seen->slot_count > SLOTS_FIRST && seen->used * 16 < seen->slot_count) {
		free(seen->slots);
		seen->slot_count = SLOTS_FIRST;
		seen->slots = xarray(SLOTS_FIRST, sizeof(*seen->slots));
	}
	memset(seen->slots, 0, seen->slot_count * sizeof(*seen->slots));
	seen->used = 0;
	seen->from = from;
	seen->bound = SEEN_ALL;
	seen->full = false;
}

/* Slots anew, with what is sampled or counted. */
static void rebuild(struct seen *seen, size_t slot_count)
{
	struct seen_slot *old = seen->slots;
	size_t old_count = seen->slot_count;

	seen->slots = xarray(slot_count, sizeof(*seen->slots));
	seen->slot_count = slot_count;
	seen->used = 0;
	for (size_t i = 0; i < old_count; i++) {
		struct seen_slot *to;

		if (!old[i].mark || (old[i].place == NOBODY && !seen_counts(seen, old[i].hash)))
			continue;
		for (to = seen_first(seen, old[i].hash); to->mark; to = seen_next(seen, to))
			;
		*to = old[i];
		seen->used++;
	}
	free(old);
}

static void make_room(struct seen *seen)
{
	if (seen->slot_count < seen->limit) {
		rebuild(seen, seen->slot_count * 2);
		return;
	}
	/* Until a quarter is free again, so that halvings stay rare. */
	while (seen->used * 2 > seen->slot_count && seen->bound > seen->from + 1) {
		seen->bound = seen->from + (seen->bound - seen->from) / 2;
		rebuild(seen, seen->slot_count);
	}
	seen->full = seen->used * 2 > seen->slot_count;
}

void seen_fill(struct seen *seen, struct seen_slot *slot, const struct seen_slot *with)
{
	*slot = *with;
	if (++seen->used * 3 > seen->slot_count * 2)
		make_room(seen);
}

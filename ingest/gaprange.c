/* gaprange: the arithmetic of holes and windows. */
#include <stdlib.h>

#include "ingest/gapwindow.h"
#include "sql/mem.h"

void ranges_add(struct ranges *ranges, int64_t start, int64_t end)
{
	/* Room doubles whenever the count reaches a power of two. */
	if ((ranges->count & (ranges->count - 1)) == 0)
		ranges->items = xgrow(ranges->items, ranges->count ? 2 * ranges->count : 1, sizeof(*ranges->items));
	ranges->items[ranges->count++] = (struct horizon){ start, end };
}

void ranges_release(struct ranges *ranges)
{
	free(ranges->items);
	*ranges = (struct ranges){ 0 };
}

void gap_windows(const struct ranges *holes, int64_t merge, struct ranges *windows)
{
	for (size_t i = 0; i < holes->count; i++) {
		struct horizon hole = holes->items[i];
		struct horizon *last = windows->count ? &windows->items[windows->count - 1] : NULL;

		if (last && hole.start - last->end < merge)
			last->end = hole.end;
		else
			ranges_add(windows, hole.start, hole.end);
	}
}

void gap_subtract(const struct ranges *holes, const struct ranges *without, struct ranges *rest)
{
	size_t at = 0;

	for (size_t i = 0; i < holes->count; i++) {
		struct horizon hole = holes->items[i];

		while (at < without->count && without->items[at].end <= hole.start)
			at++;
		for (size_t j = at; j < without->count && without->items[j].start < hole.end; j++) {
			if (hole.start < without->items[j].start)
				ranges_add(rest, hole.start, without->items[j].start);
			if (without->items[j].end > hole.start)
				hole.start = without->items[j].end;
		}
		if (hole.start < hole.end)
			ranges_add(rest, hole.start, hole.end);
	}
}

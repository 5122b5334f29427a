/* event: sorting, twice, and the contract. */
#include "analyzer/event.h"

#include <stdlib.h>

#include "sql/mem.h"

enum { ROOM_FIRST = 1024 };

void events_add(struct events *events, const struct event *event)
{
	if (events->count == events->room) {
		events->room = events->room ? events->room * 2 : ROOM_FIRST;
		events->at = xgrow(events->at, events->room, sizeof(*events->at));
	}
	events->at[events->count++] = *event;
}

void events_release(struct events *events)
{
	free(events->at);
	*events = (struct events){ 0 };
}

static int order(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int by_place(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	int by_entry = order(x->entry, y->entry), by_partition = order(x->partition, y->partition);

	return by_entry ? by_entry : by_partition ? by_partition : order(x->offset, y->offset);
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	int by_entry = order(x->entry, y->entry), by_ms = order(x->ms, y->ms), by_offset = order(x->offset, y->offset);

	return by_entry	   ? by_entry
	       : by_ms	   ? by_ms
	       : by_offset ? by_offset
			   : order(x->partition, y->partition);
}

void events_order(struct events *events)
{
	if (!events->count)
		return;
	qsort(events->at, events->count, sizeof(*events->at), by_place);
	for (size_t i = 1; i < events->count; i++) {
		const struct event *before = &events->at[i - 1];
		struct event *event = &events->at[i];

		if (before->entry == event->entry && before->partition == event->partition && before->ms > event->ms)
			event->ms = before->ms;
	}
	qsort(events->at, events->count, sizeof(*events->at), by_time);
}

enum verdict event_next(struct event_fence *fence, const struct event *event)
{
	if (event->kind == EVENT_REFUSED)
		return VERDICT_DLQ;
	if (event->kind == EVENT_DELETE) {
		fence->there = false;
		return VERDICT_APPLY;
	}
	/* Each of its legal partitions was the key's home when the record was written. */
	struct incoming in = { .home = event->partition, .partition = event->partition, .offset = event->offset };
	enum verdict verdict = fence_verdict(&in, 0, fence->there ? &fence->fence : NULL);

	fence->fence = (struct fence){ event->partition, event->offset };
	fence->there = true;
	return verdict;
}

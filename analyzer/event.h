/*
 * event: records of sampled keys in the order in which workers met them, as far as history can say, and what the fence
 * contract says of each. Within a partition the order is that of offsets; between partitions it is that of times, made
 * to rise within each; equal times go by offset, then by partition.
 */
#ifndef ANALYZER_EVENT_H
#define ANALYZER_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/verdict.h"

enum event_kind {
	EVENT_APPLIED, /* in a legal partition of its key */
	EVENT_DELETE,  /* likewise, and a tombstone that deletes: the fence is gone after it */
	EVENT_REFUSED, /* the worker sends it to the DLQ */
	EVENT_IGNORED, /* a tombstone that the pipeline skips */
};

struct event {
	uint32_t entry;          /* which key */
	int32_t partition;
	int64_t ms, offset;
	enum event_kind kind;
};

/* Zero it; release it. */
struct events {
	struct event *at;
	size_t count, room;
};

void events_add(struct events *events, const struct event *event);
void events_release(struct events *events);

/* Sorts them by entry, and those of an entry into their order; times that fall within a partition are raised. */
void events_order(struct events *events);

/* The fence of one key from event to event; {0} before the first. */
struct event_fence {
	struct fence fence;
	bool there;
};

/*
 * The verdict on the next event of the key, which is not ignored; the fence moves on. APPLY, for a delete too, REBASE,
 * or DLQ.
 */
enum verdict event_next(struct event_fence *fence, const struct event *event);

#endif

/*
 * seen: the distinct keys of one partition, by hash, and for those that are sampled their place. It never holds more
 * than its bytes: where the partition has too many keys, it keeps those below a bound that halves, and the caller
 * passes over the partition again for the rest.
 *
 *     seen_begin(&seen, 0);
 *     every record: walk from seen_first by seen_next to its slot, or to a free one for seen_fill
 *     while ((bound = seen.bound) < SEEN_ALL) { seen_begin(&seen, bound); every record again }
 */
#ifndef ANALYZER_SEEN_H
#define ANALYZER_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/keytable.h"

#define SEEN_ALL INT64_MAX

struct seen_slot {
	int64_t hash;
	uint32_t place;  /* of a sampled key, or NOBODY */
	uint32_t mark;   /* 0: free; else what the caller counts it under, + 1 */
};

struct seen {
	struct seen_slot *slots;
	size_t slot_count, used; /* slot_count is a power of two */
	size_t limit;            /* most slots */
	int64_t from, bound;     /* hashes [from, bound) are counted */
	bool full;               /* even the sampled keys do not fit */
};

/* bytes: what it may hold at most. */
void seen_init(struct seen *seen, size_t bytes);
void seen_release(struct seen *seen);

/* Empties it, to count hashes from `from` on. */
void seen_begin(struct seen *seen, int64_t from);

static inline struct seen_slot *seen_first(const struct seen *seen, int64_t hash)
{
	return &seen->slots[(size_t)hash & (seen->slot_count - 1)];
}

static inline struct seen_slot *seen_next(const struct seen *seen, const struct seen_slot *slot)
{
	return &seen->slots[((size_t)(slot - seen->slots) + 1) & (seen->slot_count - 1)];
}

/* Whether a hash that is not sampled is counted in this pass. */
static inline bool seen_counts(const struct seen *seen, int64_t hash)
{
	return seen->from <= hash && hash < seen->bound;
}

/* Fills a free slot that a walk from seen_first ended at. Slots move. */
void seen_fill(struct seen *seen, struct seen_slot *slot, const struct seen_slot *with);

#endif

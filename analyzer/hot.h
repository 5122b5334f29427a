/*
 * hot: the keys that have a large share of one partition's records. A pass over some of the records keeps the hashes
 * that come most often (Misra and Gries, "Finding repeated elements", 1982: with HOT_KEYS counters none of a share above
 * 1 / (HOT_KEYS + 1) is missed); the keys behind them are then counted exactly.
 */
#ifndef ANALYZER_HOT_H
#define ANALYZER_HOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counters; partitions with fewer records have no hot keys. */
enum { HOT_KEYS = 128, HOT_RECORDS_LEAST = 10000 };

struct hot_key {
	int64_t hash;            /* -1: free */
	int64_t records;         /* in the pass, fewer than there are; exact once hot_exact has run */
	uint8_t *key;            /* owned; NULL until hot_exact met it */
	uint32_t key_size;
};

/* Initialise by hot_begin for each partition; release. */
struct hot {
	struct hot_key keys[HOT_KEYS];
	uint8_t slots[HOT_KEYS * 4]; /* index + 1 by hash; 0: free */
	size_t count;
	int64_t seen;            /* records of the pass */
};

void hot_begin(struct hot *hot);
void hot_release(struct hot *hot);

/* Whether the record at an offset is one of those that the pass looks at: one in eight, by its offset alone. */
static inline bool hot_takes(int64_t offset)
{
	return (uint64_t)offset * UINT64_C(0x9e3779b97f4a7c15) >> 61 == 0;
}

void hot_add(struct hot *hot, int64_t hash);

/*
 * After the pass: keeps the hashes that may have at least that share (0 to 1) of the records, in order of their hashes,
 * with records 0. Returns how many.
 */
size_t hot_candidates(struct hot *hot, double share);

/* Counts a record exactly if its key is a candidate; of two keys with one hash the first that comes counts. */
void hot_exact(struct hot *hot, int64_t hash, const void *key, uint32_t size);

#endif

/*
 * rebase: the changes of sampled keys between their legal partitions, which is where the contract says REBASE: how
 * often, and the records around each.
 */
#ifndef ANALYZER_REBASE_H
#define ANALYZER_REBASE_H

#include <stdint.h>

#include "analyzer/pool.h"
#include "sql/trouble.h"

/* The most steps that are kept of a key, and of a topic. */
enum { REBASE_STEPS_KEY = 16, REBASE_STEPS = 100000 };

/* A record before a change, or the one that made it. */
struct rebase_step {
	uint32_t entry;
	int32_t partition;
	int64_t offset, ms;
	uint8_t verdict;         /* enum verdict */
};

struct fold;

/*
 * Sets key_entry.rebases of all keys, and fills f->steps (struct rebase_step, those of a key together and in order).
 * 0 or -1.
 */
int rebase_count(struct fold *f, struct trouble *t);

#endif

/*
 * ahead: what the records of a partition say by themselves, without the key table: how many stand where, which keys are
 * off home, which may be hot. The feed's thread works it out for each chunk before the fold gets it.
 */
#ifndef ANALYZER_AHEAD_H
#define ANALYZER_AHEAD_H

#include <stdint.h>

#include "analyzer/hot.h"
#include "analyzer/offhome.h"
#include "analyzer/placed.h"

/* Of one partition. */
struct ahead_count {
	int64_t keyed, null_keys;
	int64_t homeless;        /* records whose key has no home */
	int64_t homed;           /* records with a home */
	/* Off home; the homed ones before the first of them, and before the last. */
	int64_t off_home, off_home_first, off_home_last, off_home_first_ms, off_home_last_ms;
	int64_t homed_first, homed_last;
};

/* Initialise; release. */
struct ahead {
	const struct placement *placement; /* its records are counted; borrowed */
	struct offhome offhome;  /* of the topic */
	/* Of the partition at hand. */
	struct ahead_count count;
	struct hot hot;
	uint32_t *some;          /* indices of some records of a chunk */
};

void ahead_init(struct ahead *ahead, const struct placement *placement);
void ahead_release(struct ahead *ahead);

/* The chunks that follow are of that partition. */
void ahead_begin(struct ahead *ahead, int32_t partition);

/* Takes a chunk: for feed_begin, which calls it in the order of the chunks. */
void ahead_take(void *ahead, const struct placed *placed);

#endif

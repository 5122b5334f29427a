/*
 * Crash points: places in the worker where it may end at once, as a machine does that loses power. A point is taken
 * the N-th time it is passed, or at random by a seed; then the process ends by _exit(42), nothing flushed.
 */
#ifndef PIPELINE_CRASH_H
#define PIPELINE_CRASH_H

#include "prng.h"

enum crash_point {
	CRASH_NEVER,
	CRASH_PARTIAL, /* half of a batch is written to Redis */
	CRASH_REDIS,   /* after the Redis write */
	CRASH_PRODUCE, /* after produce and flush */
	CRASH_COMMIT,  /* after the commit */
};

#define CRASH_EXIT 42

struct crash {
	enum crash_point point; /* where to crash, CRASH_NEVER for nowhere by count */
	int64_t at;             /* the how manieth time, from 1 */
	double probability;     /* of a crash at any point passed */
	int64_t passed;
	struct prng prng;
};

/* Whether the program is to end at this point, which it now passes. */
bool crash_due(struct crash *c, enum crash_point point);

/* Pass a point: returns, or ends the program. */
void crash_pass(struct crash *c, enum crash_point point);

#endif

/*
 * rival: one hypothesis of attribute held against keys, one by one.
 */
#ifndef ANALYZER_RIVAL_H
#define ANALYZER_RIVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/attribute.h"
#include "analyzer/hypotheses.h"

struct rival {
	struct attribute_placement at;
	size_t matched;
	int32_t *said; /* where it puts each key, */
	bool *hit;     /* and whether the key was seen there; both owned */
};

/* Holds a placement against all of keys; matched is the caller's. Release it. */
struct rival rival_of(const struct hypotheses_keys *keys, const struct attribute_placement *at, size_t matched);
void rival_release(struct rival *rival);

/* The score of attribute.h: m of r keys, 0 < q <= 1. */
double rival_score(double m, double r, double q);

/*
 * The score of a rival to be accepted in a topic of n partitions, among the keys that are not in without, one flag a
 * key (NULL: among all of them). Of a part of the key only distinct parts count.
 */
double rival_evidence(const struct hypotheses_keys *keys, int32_t n, const struct rival *rival, const bool *without);

#endif

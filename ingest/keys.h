/*
 * keys: fills the key sets of a run from the history, before Redis is read and again for the tail (DESIGN 5.4).
 */
#ifndef INGEST_KEYS_H
#define INGEST_KEYS_H

#include "ingest/plan.h"

/*
 * Makes the key sets of a lane's source topics and says from where on keys are recent. After the first replay. 0 or
 * -1.
 */
int keys_begin(struct plan *plan, struct lane *lane, size_t memory, struct trouble *t);

/* Adds what was replayed since the last call. 0 or -1. */
int keys_extend(struct plan *plan, struct lane *lane, struct trouble *t);

#endif

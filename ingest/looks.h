/*
 * looks: steps 1, 2 and 5 of the order of looking: what is read of Kafka between the replays, for one pipeline, with
 * the time of each look.
 */
#ifndef INGEST_LOOKS_H
#define INGEST_LOOKS_H

#include "ingest/plan.h"

/* Step 1: keeps what replay_open read, before the tail's looks replace it. Always 0. */
int looks_first(struct plan *plan, struct lane *lane, struct trouble *t);

/*
 * Step 2: log starts and high watermarks, then the commits C, then the group's state and members. A partition that
 * could not be answered keeps UNKNOWN and its trouble. 0, or -1 where no look was possible at all.
 */
int looks_before_sampling(struct plan *plan, struct lane *lane, struct trouble *t);

/* Step 5: the high watermarks a last time. */
int looks_last(struct plan *plan, struct lane *lane, struct trouble *t);

/* Resolves the config's "from" into offsets; once, after the first replay. */
int looks_from(struct plan *plan, struct lane *lane, struct trouble *t);

#endif

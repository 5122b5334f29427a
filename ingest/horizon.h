/*
 * horizon: what a run may hold Redis responsible for, per partition (DESIGN section 3), and the rows of table horizon.
 */
#ifndef INGEST_HORIZON_H
#define INGEST_HORIZON_H

#include "ingest/plan.h"

/* Reads the highest horizon ends that earlier runs of the same pipeline, group and incarnation proved. 0 or -1. */
int horizon_read_proven(struct plan *plan, struct lane *lane, struct trouble *t);

/* horizon = age: how long to wait, in microseconds from now, until the ends of step 1 are old enough. 0: not at all. */
int64_t horizon_wait_us(const struct plan *plan, const struct lane *lane);

/*
 * The offset below which Redis must know every record, sampled at that time, as far as it is indexed; UNKNOWN:
 * nothing says.
 */
int64_t horizon_end(const struct lane *lane, const struct partition_looks *looks, int64_t sampled_us);

/*
 * Writes one row a partition. Call after the last looks. sampled_us: when the sampling of the lane began; UNKNOWN:
 * there was none.
 */
int horizon_record(struct plan *plan, struct lane *lane, int64_t sampled_us, struct trouble *t);

#endif

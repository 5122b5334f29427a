/*
 * mapping: the guard of DESIGN section 6. A wrong template must not look like two million lost fences: where, with at
 * least 100 keys on each side, not one sampled record key exists in Redis, the mapping is broken, unless an earlier
 * run of the same mapping fitted. Only keys count that must be there: those of records that the group has not come to
 * yet, and those that were deleted or have expired, are rightly absent.
 */
#ifndef INGEST_MAPPING_H
#define INGEST_MAPPING_H

#include "ingest/plan.h"

/*
 * Judges a lane whose keys were looked at; sets lane->mapping and mapping_hint, and records trouble where it is
 * broken, or where not one key was looked at. 0, or -1: the index.
 */
int mapping_judge(struct plan *plan, struct lane *lane, struct trouble *t);

#endif

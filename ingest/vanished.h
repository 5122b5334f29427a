/*
 * vanished: a topic that the previous run of a pipeline looked at, that its ^regex still matches, and that the
 * cluster no longer shows: deleted, or hidden by an ACL. Without a word it would simply not be audited any more.
 */
#ifndef INGEST_VANISHED_H
#define INGEST_VANISHED_H

#include "ingest/plan.h"

/* Records trouble for each such topic of a lane; the run after it no longer misses the topic. 0, or -1: the index. */
int vanished_topics(struct plan *plan, struct lane *lane, struct trouble *t);

#endif

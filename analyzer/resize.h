/*
 * resize: the partition counts that a topic has had, also one that nobody configured and no earlier run saw, and when
 * producers changed from one to the next.
 *
 * A count N0 leaves its mark: partitions at or above it begin later than those below, and the keys of the records
 * before that are at home under N0. Which records came before a change is told by the first record in a partition at
 * or above N0; from then on producers have five minutes (Kafka's metadata.max.age.ms) to learn of the new partitions.
 * Inside that time a record at home under N0 may rightly be so; after it, its producer is stale.
 */
#ifndef ANALYZER_RESIZE_H
#define ANALYZER_RESIZE_H

#include <sqlite3.h>
#include <stdint.h>

#include "analyzer/topic.h"
#include "sql/run.h"
#include "sql/trouble.h"

struct fold;

/* How long producers may go on with the count they know. */
#define METADATA_AGE_MS INT64_C(300000)

/*
 * Before the fold of a topic: adds the counts that its history shows to topic->count, with their certain[] (0) and
 * stale_from[]; brings all earlier counts into falling order, since counts only grow; fills stale_from[] of them all,
 * and topic->resizes. Does nothing where the present count is not known. 0 or -1.
 */
int resize_find(const struct run *run, sqlite3 *db, struct fold_topic *topic, struct trouble *t);

/*
 * After the fold of a topic, when off-home keys are sorted: counts keys and fences, and writes table topic_resize. 0 or
 * -1.
 */
int resize_write(const struct fold *f, struct trouble *t);

#endif

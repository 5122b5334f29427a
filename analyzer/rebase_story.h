/*
 * rebase_story: all that the contract says of one key that moved between its legal partitions, record by record, for a
 * person who wants to see how a rebase came about.
 */
#ifndef ANALYZER_REBASE_STORY_H
#define ANALYZER_REBASE_STORY_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/run.h"
#include "sql/trouble.h"

/* A record of the key, and what the contract says of it; "ignored" for a tombstone that the pipeline skips. */
struct story_record {
	int32_t partition;
	int64_t offset, ms;      /* ms: raised to that of an earlier record of the partition where it fell below */
	const char *verdict;
};

/* Borrowed for the call. */
struct rebase_story {
	const char *pipeline, *topic;
	const void *key;
	size_t key_size;
	int32_t home;
	int64_t fence_partition, fence_offset; /* UNKNOWN: no fence, or it was not looked at */
	const struct story_record *records;    /* in the order of their times, offsets breaking ties */
	size_t count;
};

/*
 * Tells up to `most` of the keys that run run->id saw rebased, or to be rebased by their next record: those with the
 * smallest hashes of each topic, in the order of pipelines and topics. *keys is how many there are among the sampled
 * ones. The run must be the one whose fold the index holds. 0 or -1.
 */
int rebase_stories(const struct run *run, sqlite3 *db, int64_t most,
		   void (*show)(void *context, const struct rebase_story *story), void *context, int64_t *keys,
		   struct trouble *t);

#endif

/*
 * rejected: the records of a topic that the pipeline's DLQ names as its source. They do not move a fence.
 */
#ifndef ANALYZER_REJECTED_H
#define ANALYZER_REJECTED_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/run.h"
#include "sql/trouble.h"

struct rejected_at {
	int32_t partition;
	int64_t offset;
};

/* Zero it; release it. */
struct rejected {
	struct rejected_at *at;  /* sorted by partition and offset */
	size_t count, room;
	bool known;              /* a DLQ topic was read */
	const char *incomplete;  /* why there may be more; NULL: these are all. Static */
};

/* Of which source topic of which pipeline, as the run saw it. */
struct rejected_from {
	int64_t pipeline_id;
	const char *topic;
};

/* Reads the pipeline's DLQ from the index. 0 or -1. */
int rejected_load(const struct run *run, sqlite3 *db, const struct rejected_from *from, struct rejected *rejected,
		  struct trouble *t);
void rejected_release(struct rejected *rejected);

/* A stretch of the sorted list: one partition's offsets. */
struct rejected_span {
	const struct rejected_at *at, *end;
};

struct rejected_span rejected_in(const struct rejected *rejected, int32_t partition);

/* Whether the span holds the offset; offsets asked for must rise: the span moves on. */
static inline bool rejected_next(struct rejected_span *span, int64_t offset)
{
	while (span->at < span->end && span->at->offset < offset)
		span->at++;
	return span->at < span->end && span->at->offset == offset;
}

#endif

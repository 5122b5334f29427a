/*
 * replay: brings the history of topics in the index up to the broker's. The order of looking (ingest.c) calls it
 * twice: for the bulk, and for the tail.
 *
 *     replay_open     log starts and ends; which incarnation it is, where the index stops, whether the history is still
 *                     the one that was indexed
 *     replay_run      records [next, end) of every partition, then a second look at the holes
 *     replay_extend   partition counts and ends again; then replay_run again
 *
 * Between these calls nobody else may hold the index's connection: replay_run starts and stops its own writer.
 * What could not be done for one topic or partition is in its own trouble; -1 means that the index cannot be written.
 */
#ifndef INGEST_REPLAY_H
#define INGEST_REPLAY_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "ingest/source.h"
#include "sql/run.h"
#include "sql/trouble.h"

/* One partition of a topic. Offsets that are not known are UNKNOWN. */
struct topic_part {
	int32_t partition;
	int64_t first, next;             /* the index holds [first, next) */
	int64_t gap;                     /* holes below were looked at */
	int64_t log_start, log_start_us; /* as the broker said, and when */
	int64_t last_stable, last_stable_us;
	int64_t high_watermark, high_watermark_us;
	/* where the replay goes: last stable offset, or high watermark where isolation is read_uncommitted */
	int64_t end, end_us;
	int64_t records;        /* records that this run has added */
	bool verified;          /* what the index has was compared with the broker's */
	bool covered;           /* the index has reached end and the holes were looked at */
	bool beyond;            /* the broker's end fell below what was read */
	struct trouble trouble; /* why not covered */
};

/* One topic under one isolation level. The first four are the caller's to fill in. */
struct topic_history {
	char *topic; /* owned, from malloc */
	enum isolation isolation;
	bool numbers;           /* keep values as numbers */
	const char *dlq_header; /* header that names the source record; borrowed; NULL: none */

	int64_t incarnation_id; /* 0: could not be opened, trouble says why */
	int32_t partitions;
	struct topic_part *parts; /* by partition */
	struct topic_description description;
	bool rewritten; /* this run found another history than the index had */
	struct trouble trouble;
};

/* Frees what a topic_history holds, topic included. */
void topic_history_release(struct topic_history *history);

/* Step 1 of the order of looking. Pairs of topic and isolation must be distinct. 0, or -1: the index. */
int replay_open(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topics, size_t count,
		struct trouble *t);

/* Replays every part to its end. Parts that are covered already cost nothing. 0, or -1: the index. */
int replay_run(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topics, size_t count,
	       struct trouble *t);

/* Reads partition counts and ends again, new partitions included. 0, or -1: the index. */
int replay_extend(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topics, size_t count,
		  struct trouble *t);

#endif

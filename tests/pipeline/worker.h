/*
 * The worker of the reference pipeline: reads a topic as a member of a consumer group, keeps one state a key in Redis
 * under the fence, and produces what it applied. For each batch, in this order:
 *
 *   1. Redis: the fence script, pipelined          crash points "partial", "redis"
 *   2. produce outputs and rejects, and flush      crash point "produce"
 *   3. commit the offsets                          crash point "commit"
 *
 * No output is lost in a crash: steps 1 and 2 are repeated for a batch in rounds, so that a round holds at most one
 * record of a key, and the later record is applied only when the output of the earlier is flushed.
 */
#ifndef PIPELINE_WORKER_H
#define PIPELINE_WORKER_H

#include "crash.h"
#include "kafka.h"
#include "script.h"

enum state_kind { STATE_OPAQUE, STATE_LAST, STATE_COUNT, STATE_SUM };
enum tombstones { TOMBSTONES_APPLY, TOMBSTONES_IGNORE, TOMBSTONES_DELETE };
enum rejects { REJECTS_DLQ, REJECTS_SILENT, REJECTS_NONE };

struct worker_options {
	struct common common;
	enum state_kind state;
	enum tombstones tombstones;
	enum rejects rejects;
	const char *output, *dlq, *isolation, *reset, *assign;
	int64_t ttl_ms;         /* 0: none */
	int64_t batch;          /* records */
	int64_t linger_ms;      /* how long a batch is collected */
	int64_t max_records;    /* 0: no limit */
	int64_t pause_ms;       /* slept after each batch */
	int64_t session_ms;
	int64_t fixed_count;    /* N that the worker believes in, 0: asked for at each batch */
	bool poison, until_end, no_join, lossy;
	bool commit_first;      /* breaks the order on purpose */
};

/* What the worker knows of a partition; owned partitions are the assigned ones. */
struct owned {
	bool mine, at_end, fenced;
	int64_t epoch;
	int64_t next; /* offset to commit, -1 for none */
};

struct tally {
	int64_t records, verdict[VERDICT_DLQ + 1], null_keys, tombstones, ignored, poison, outputs;
	int64_t batches, rounds, commits;
};

struct worker {
	const struct worker_options *opt;
	struct crash crash;
	rd_kafka_t *consumer;
	struct sink sink;
	redisContext *redis;
	struct script fence, drop;
	struct owned *owned; /* by partition */
	int32_t room, count; /* slots of owned; N, the topic's partition count */
	bool assigned;       /* an assignment has come, even an empty one */
	int64_t grown_ms;    /* when new partitions were seen, 0 for never */
	int64_t fenced_ms;   /* when a fenced partition was first seen without a rebalance, 0 for none */
	rd_kafka_message_t **batch;
	size_t batched;
	struct tally tally;
};

/* member.c: the consumer and its assignment. */

/* Open the consumer, then join the group or take partitions by hand. */
void member_open(struct worker *w);

/* Fill w->batch; it may stay empty. */
void member_collect(struct worker *w);

/* Drop the batch's messages. */
void member_release(struct worker *w);

/* Commit the next offsets of the owned partitions that moved; a commit that the group refuses is no trouble. */
void member_commit(struct worker *w);

/* True where every partition owned was read to its end; false before an assignment and shortly after new partitions. */
bool member_at_end(const struct worker *w);

/* Ask for the partition count again and follow it. */
void member_recount(struct worker *w);

/* What is known of a partition; room is made where needed. */
struct owned *member_owned(struct worker *w, int32_t partition);

/* Leave the group and close. */
void member_close(struct worker *w);

/* apply.c: steps 1 and 2 for the batch; w->owned[].next is moved over what is done. */
void apply_batch(struct worker *w);

/* Step 3 without the others: a crash now loses the batch. */
void apply_nothing(struct worker *w);

#endif

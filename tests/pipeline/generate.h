/* What the generator's parts share: its options, its producers and what it has counted. */
#ifndef PIPELINE_GENERATE_H
#define PIPELINE_GENERATE_H

#include <stdio.h>

#include "kafka.h"
#include "made.h"

enum placement { PLACE_MURMUR2, PLACE_CRC32, PLACE_RANDOM };
enum transactions { TXN_NONE, TXN_COMMITTED, TXN_ABORTED, TXN_MIXED, TXN_INTERLEAVED, TXN_OPEN };
enum outcome { OUTCOME_COMMITTED, OUTCOME_ABORTED, OUTCOME_OPEN };

struct generate_options {
	struct common common;
	enum made_format format;
	enum placement placement;
	enum transactions transactions;
	const char *list;
	int64_t records, keys, first_key, partitions, old_partitions, seed, value_size, rate, start_ts, duration;
	int64_t producers, txn_size, txn_timeout;
	double null_keys, tombstones, poison, abort_rate;
	bool numbers, hold;
};

/* Delivered records of a partition. */
struct span {
	int64_t records, first, last; /* offsets, -1 where there is none */
};

struct generator;

/* One producer and its transaction. */
struct source {
	struct sink sink;
	struct generator *g;
	bool in_txn;
	enum outcome outcome; /* of the transaction that is running, or that would be begun */
	int64_t in_it;        /* records in it */
};

struct generator {
	const struct generate_options *opt;
	struct prng prng;
	struct source *sources;
	int sources_count;
	int32_t partitions;
	struct span *spans; /* by partition */
	int64_t outcomes[OUTCOME_OPEN + 1], null_keys, tombstones, poison;
	FILE *list;
};

/* sources.c: producers with or without transactions. */

/* Open as many producers as the mode needs. */
void sources_open(struct generator *g);

/* Produce one record through the producer whose turn it is, beginning and ending transactions as the mode wants. */
void sources_produce(struct generator *g, struct outgoing *o);

/* End or leave what is running; all records are delivered afterwards. */
void sources_finish(struct generator *g);

void sources_close(struct generator *g);

#endif

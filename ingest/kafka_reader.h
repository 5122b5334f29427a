/*
 * kafka_reader: reads stretches of partitions to their ends, on one thread a client. What a replay, a second look
 * at holes and a probe have in common.
 *
 * A stretch ends where a record, an end-of-partition event or the client's position reaches its end: markers and
 * aborted records give no record, so the last offset is never waited for. Internal to the files kafka_*.c.
 */
#ifndef INGEST_KAFKA_READER_H
#define INGEST_KAFKA_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ingest/kafka_client.h"

/* Records in [next, end) of one partition. */
struct stretch {
	const char *topic; /* borrowed */
	int32_t partition;
	int64_t next, end;      /* next: all below was read; moves */
	size_t index;           /* the caller's */
	struct stretch *then;   /* of the same partition, to be read after this one; NULL */
	bool covered;           /* out: next has reached end */
	bool beyond;            /* out: the broker's end lies below end */
	struct trouble trouble; /* out: why neither */

	/* The reader's own. */
	int64_t begin, seen_next, idle_us, fell_us;
	rd_kafka_topic_t *rkt;
	bool started, over, out_of_range;
	rd_kafka_resp_err_t error;
};

enum take {
	TAKE_MORE,
	TAKE_ENOUGH, /* the stretch ends here, neither covered nor in trouble */
	TAKE_FAILED, /* the stretch ends here with the words in stretch->trouble */
};

struct read_ops {
	/* What the thread keeps; either may be NULL. */
	void *(*enter)(void *context);
	void (*leave)(void *thread);
	/* A record of [next, end). Borrowed. */
	enum take (*take)(void *thread, struct stretch *stretch, const rd_kafka_message_t *message);
	/* Everything below log_start is gone; next is still where reading had come. May be NULL. */
	enum take (*trimmed)(void *thread, struct stretch *stretch, int64_t log_start);
	/* The stretch is over, for whatever reason; called once for each. May be NULL. */
	void (*over)(void *thread, struct stretch *stretch);
};

/* Reads all stretches; those chained by `then` are given by their first. Returns when each is over. */
void kafka_read(struct kafka_source *source, struct kafka_client *const *clients, size_t client_count,
		struct stretch **stretches, size_t count, const struct read_ops *ops, void *context);

#endif

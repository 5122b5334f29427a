/*
 * kafka_source: a live Kafka cluster as a source (source.h), through librdkafka. It only reads: it joins no group,
 * commits nothing, creates nothing.
 *
 * Records are read with the simple consumer (rd_kafka_consume_start_queue): that needs no group.id, so the client
 * never asks for a group coordinator and needs no rights on any group. Partitions are divided among `handles`
 * consumers, one thread each.
 */
#ifndef INGEST_KAFKA_SOURCE_H
#define INGEST_KAFKA_SOURCE_H

#include <stdint.h>

#include "ingest/config.h"
#include "ingest/source.h"
#include "sql/run.h"
#include "sql/trouble.h"

struct kafka_options {
	int handles;        /* consumers that read at the same time; 0: 2 */
	int64_t timeout_ms; /* give up on what made no progress for so long; 0: 60,000 */
};

/*
 * Connects and asks for the cluster's id. properties are librdkafka's, borrowed for the call; those that would let
 * the client join a group, commit, or read other than as a run needs are ignored, with a note. run is kept until
 * free. 0, or -1 with *source NULL: an unknown property, or no broker answered in time.
 */
int kafka_source_new(const struct run *run, const struct properties *properties, const struct kafka_options *options,
		     struct source **source, struct trouble *t);

#endif

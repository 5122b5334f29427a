/*
 * Faults: one named harm done to Redis or Kafka, and the exact facts that an audit must find afterwards, one JSON
 * object a line on stdout. Which key is harmed follows from the key bytes alone, so that a test can be repeated.
 */
#ifndef PIPELINE_FAULT_H
#define PIPELINE_FAULT_H

#include "history.h"
#include "json.h"
#include "redis.h"
#include "worker.h"

struct fault_options {
	struct common common;
	enum state_kind state;
	enum tombstones tombstones;
	bool poison;
	const char *name, *on_key, *on_key_hex, *field, *value;
	int64_t nth, count, records, by, partition, to, ttl_ms, old_partitions;
};

struct fault {
	const struct fault_options *opt;
	rd_kafka_t *reader; /* of the group, reads uncommitted: watermarks, commits, admin requests */
	redisContext *redis;
	struct history history;
	struct buf json;
};

/* A fault on one key: false where the key does not suit it (then nothing was done); f->json holds its facts. */
typedef bool fault_on_key(struct fault *f, const struct subject *s);

/* A fault on the whole; writes and prints its facts, dies where it cannot be done. */
typedef void fault_on_all(struct fault *f);

/* Faults on fences and values; fault_fence.c. */
fault_on_key fault_fence_back, fault_fence_lost, fault_fence_no_field, fault_fence_non_numeric, fault_fence_wrong_type,
	fault_fence_ahead, fault_fence_foreign, fault_fence_aborted;
fault_on_key fault_value_changed, fault_count_twice, fault_ttl_short;

/* Faults by keys and records that were not there before; fault_record.c. */
fault_on_key fault_record_crc32, fault_record_old_count;
fault_on_all fault_fence_off_home, fault_fence_orphan;

/* Faults on epochs and commits; fault_group.c. */
fault_on_all fault_epoch_deleted, fault_epoch_lowered, fault_epoch_malformed;
fault_on_all fault_commit_before_writes, fault_commit_beyond_end, fault_commit_lowered;

/* Faults by requests to the broker, which the mock does not know; fault_admin.c. */
fault_on_all fault_partitions_added, fault_topic_recreated, fault_commit_below_log, fault_commit_deleted;

/* What the faults share; fault.c. */

/* A fence as it is stored. */
struct fence {
	int64_t partition, offset;
};

/* The Redis key of a state into b; dies where the key does not have the format. */
void fault_redis_key(const struct fault *f, struct bytes key, struct buf *b);

/* The fence of a key; false where there is none that is whole. */
bool fault_fence_of(struct fault *f, struct bytes key, struct fence *to);

/* Set one field of the key's hash. */
void fault_set(struct fault *f, struct bytes key, const char *field, struct bytes value);
void fault_set_int(struct fault *f, struct bytes key, const char *field, int64_t value);

int32_t fault_home(const struct fault *f, struct bytes key);

/* Whether a record must move its key's fence: at home, committed, no poison, no tombstone that moves nothing. */
bool fault_is_binding(const struct fault *f, const struct past *r);

/* The newest binding record of a subject, NULL where there is none. */
const struct past *fault_newest(const struct fault *f, const struct subject *s);

/* Begin the facts of a key: fault, topic, key, key_hex, redis_key, partition (its home), newest (offset or -1). */
void fault_facts(struct fault *f, const struct subject *s);

/* A fence as a member of the facts. */
void fault_facts_fence(struct fault *f, const char *name, struct fence fence);

/* Produce one record and wait for it; returns its offset. */
int64_t fault_produce(struct fault *f, struct bytes key, int32_t partition, struct bytes value);

/* The group's committed offset of a partition, -1 for none. */
int64_t fault_committed(struct fault *f, int32_t partition);

#endif

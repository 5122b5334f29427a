/*
 * world: what a test wants an index to be made from: a pipeline, its topics with their records, what Redis holds, how far
 * the group had committed. tests/unit/index_fixture.h writes it down.
 */
#ifndef TESTS_UNIT_WORLD_H
#define TESTS_UNIT_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <xxhash.h>

#include "sql/chunk.h"
#include "sql/db.h"
#include "sql/facts.h"
#include "sql/functions.h"
#include "sql/keyhash.h"
#include "sql/mem.h"
#include "sql/partitioner.h"
#include "sql/record.h"
#include "sql/run.h"
#include "sql/trouble.h"
#include "sql_data.h"

enum { WORLD_RECORDS = 1 << 14, WORLD_FENCES = 4096, WORLD_PARTITIONS = 32, WORLD_TOPICS = 3, WORLD_NOW_MS = 1000000 };
enum { SOURCE, DLQ, COPARTITIONED };

struct world_record {
	int32_t partition;
	int64_t offset, ms;
	const char *key;         /* NULL: a null key; borrowed */
	bool tombstone, aborted, has_number;
	int64_t number;
	const char *source_topic;
	int32_t source_partition;
	int64_t source_offset;
};

struct world_part {
	int64_t first, next;     /* indexed range */
	int64_t log_start, last_stable, high_watermark, committed,
		from; /* committed UNKNOWN: none; from UNKNOWN: beginning */
	int64_t last_high_watermark; /* UNKNOWN: the same as high_watermark */
	bool last_unread;        /* the last high watermark could not be read */
	bool uncovered;
	const char *reason;      /* no horizon, and why */
	int64_t gap_from, gap_to; /* a gap_range "trimmed"; empty: none */
};

struct world_topic {
	const char *name;
	int role;
	int32_t partitions;
	struct world_record *record;
	size_t records, room;
	struct world_part part[WORLD_PARTITIONS];
	bool compacted, policy_unknown, fresh; /* fresh: a new incarnation, the old one ends */
	struct fact_topic fact;
};

struct world_fence {
	const char *key;
	struct fact_fence fact;  /* topic_id, hash, key, redis_key are filled in */
};

struct world_epoch {
	int32_t partition;
	struct fact_epoch fact;
};

struct world {
	struct fact_pipeline pipeline;
	int32_t before[4];       /* partitions_before; 0 ends */
	struct world_topic topic[WORLD_TOPICS];
	size_t topics;
	struct world_fence *fence;
	size_t fences;
	struct world_epoch epoch[WORLD_PARTITIONS];
	size_t epochs;
	struct fact_rewrite rewrite;
	bool rewritten;
	const char *max_findings;
	int64_t run_us;          /* when the run looked */
};

static inline struct world_topic *world_add_topic(struct world *w, const char *name, int role, int32_t partitions)
{
	struct world_topic *t = &w->topic[w->topics++];
	static const char *const roles[] = { "source", "dlq", "copartitioned" };

	*t = (struct world_topic){ .name = name, .role = role, .partitions = partitions,
				   .room = WORLD_RECORDS, .record = xarray(WORLD_RECORDS, sizeof(*t->record)) };
	t->fact = (struct fact_topic){
		.topic = name,
		.role = roles[role],
		.partitions = partitions,
		.partitions_at_start = partitions,
		.cleanup_policy = "delete",
		.retention_ms = 604800000,
		.timestamp_type = "CreateTime",
		.main_threshold = role == SOURCE ? INT64_MAX : UNKNOWN,
		.recent_threshold = role == SOURCE ? INT64_MAX : UNKNOWN,
		.main_keys = UNKNOWN,
		.recent_keys = UNKNOWN,
		.recent_from_ms = UNKNOWN,
		.history_keys = UNKNOWN,
		.redis_keys = UNKNOWN,
		.redis_keys_taken = UNKNOWN,
		.scan_complete = 1,
	};
	for (int32_t p = 0; p < WORLD_PARTITIONS; p++)
		t->part[p] = (struct world_part){
			.from = UNKNOWN, .committed = UNKNOWN, .last_stable = UNKNOWN, .high_watermark = UNKNOWN,
			.last_high_watermark = UNKNOWN
		};
	return t;
}

static inline struct world *world_new(void)
{
	struct world *w = xalloc(sizeof(*w));

	w->fence = xarray(WORLD_FENCES, sizeof(*w->fence));
	w->run_us = INT64_C(1000) * WORLD_NOW_MS;
	w->pipeline = (struct fact_pipeline){
		.name = "orders",
		.mapping_sha256 = "00",
		.kafka = "cluster",
		.group_id = "orders-processor",
		.redis = "localhost:6379/0",
		.key_template = "state:{key}",
		.key_format = "raw",
		.field_offset = "offset",
		.field_partition = "partition",
		.field_value = "value",
		.partitioner = "murmur2",
		.hot_share = 200,
		.state = "opaque",
		.tombstones = "apply",
		.expires_ms = UNKNOWN,
		.isolation = "read_committed",
		.horizon = "committed",
		.horizon_age_ms = UNKNOWN,
		.from_kind = "beginning",
		.from_us = UNKNOWN,
		.rejects = "none",
		.recent_ms = 600000,
		.group_members = 1,
		.group_state = "Stable",
		.group_us = 1,
		.mapping = "fits",
	};
	world_add_topic(w, "orders", SOURCE, 4);
	return w;
}

static inline void world_free(struct world *w)
{
	for (size_t i = 0; i < w->topics; i++)
		free(w->topic[i].record);
	free(w->fence);
	free(w);
}

/* The home of a key under n partitions. */
static inline int32_t home_of(const char *key, int32_t n)
{
	return home_partition(key, strlen(key), n);
}

/* "k0", "k1" ...: names that stay for the life of the test program. */
static inline const char *key_name(int k)
{
	static char names[4096][16];

	assert_in_range(k, 0, 4095);
	snprintf(names[k], sizeof(names[k]), "k%d", k);
	return names[k];
}

/* The i-th of the keys k0, k1 ... whose home under n partitions is p. */
static inline const char *key_homed(int32_t p, int32_t n, int i)
{
	for (int k = 0;; k++)
		if (home_of(key_name(k), n) == p && i-- == 0)
			return key_name(k);
}

/* The i-th key with one home under n and another under m. */
static inline const char *key_moved(int32_t p, int32_t n, int32_t q, int32_t m, int i)
{
	for (int k = 0;; k++)
		if (home_of(key_name(k), n) == p && home_of(key_name(k), m) == q && i-- == 0)
			return key_name(k);
}

/* A record in a partition at its next offset. */
static inline struct world_record *world_put_in(struct world_topic *t, int32_t partition, const char *key, int64_t ms)
{
	struct world_record *r;

	if (t->records == t->room)
		t->record = xgrow(t->record, t->room *= 2, sizeof(*t->record));
	r = &t->record[t->records++];
	*r = (struct world_record){ .partition = partition, .offset = t->part[partition].next++, .ms = ms, .key = key };
	return r;
}

static inline struct world_record *world_put(struct world *w, const char *key, int64_t ms)
{
	return world_put_in(&w->topic[0], home_of(key, w->topic[0].partitions), key, ms);
}

/* An offset that no record has: a transaction marker, or a record that is gone. */
static inline void world_skip(struct world *w, int32_t partition)
{
	w->topic[0].part[partition].next++;
}

static inline struct world_fence *world_fence_of(struct world *w, const char *key)
{
	for (size_t i = 0; i < w->fences; i++)
		if (strcmp(w->fence[i].key, key) == 0)
			return &w->fence[i];
	return NULL;
}

/* XXH3 of the value that the fixture gives to a record. */
static inline int64_t value_hash_at(int32_t partition, int64_t offset)
{
	char value[64];
	int n = snprintf(value, sizeof(value), "value %d/%lld", (int)partition, (long long)offset);

	return (int64_t)XXH3_64bits(value, (size_t)n);
}

/* Puts a sample: present, with a well-formed fence. */
static inline struct world_fence *world_set(struct world *w, const char *key, int64_t partition, int64_t offset)
{
	struct world_fence *f = world_fence_of(w, key);

	if (!f) {
		f = &w->fence[w->fences++];
		assert_true(w->fences <= WORLD_FENCES);
		f->key = key;
		f->fact = (struct fact_fence){ .strata = 1,
					       .sampled_us = INT64_C(1000) * WORLD_NOW_MS,
					       .value_hash = UNKNOWN,
					       .value_number = UNKNOWN,
					       .ttl_ms = -1,
					       .field_ttl_ms = UNKNOWN,
					       .slot = 1,
					       .node = "n" };
	}
	f->fact.present = 1;
	f->fact.partition = partition;
	f->fact.offset = offset;
	f->fact.value_hash = value_hash_at((int32_t)partition, offset);
	return f;
}

/* The key was asked for and is not there. */
static inline struct world_fence *world_absent(struct world *w, const char *key)
{
	struct world_fence *f = world_set(w, key, 0, 0);

	f->fact.present = 0;
	f->fact.partition = f->fact.offset = f->fact.value_hash = UNKNOWN;
	return f;
}

/* Redis holds what a worker that applied every record of the source topic left there; commits are at the ends. */
static inline void world_settle(struct world *w)
{
	struct world_topic *t = &w->topic[0];
	bool deletes = strcmp(w->pipeline.tombstones, "delete") == 0,
	     ignores = strcmp(w->pipeline.tombstones, "ignore") == 0;

	w->fences = 0;
	for (size_t i = 0; i < t->records; i++) {
		const struct world_record *r = &t->record[i];
		struct world_fence *f;

		if (!r->key || r->aborted)
			continue;
		if (r->tombstone && (deletes || ignores)) {
			if (deletes || !world_fence_of(w, r->key))
				world_absent(w, r->key)->fact.value_number = UNKNOWN;
			continue;
		}
		f = world_fence_of(w, r->key);
		if (!f || !f->fact.present) {
			f = world_set(w, r->key, r->partition, r->offset);
			f->fact.value_number = 0;
		}
		f = world_set(w, r->key, r->partition, r->offset);
		f->fact.value_number += strcmp(w->pipeline.state, "sum") == 0 ? r->number : 1;
	}
	for (int32_t p = 0; p < t->partitions; p++)
		t->part[p].committed = t->part[p].next;
}

#endif

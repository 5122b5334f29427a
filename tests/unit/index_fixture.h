/*
 * index_fixture: an index in memory, made from a small description of a world: a pipeline, its topics with their
 * records, what Redis holds, how far the group had committed. Facts and chunks go in exactly as ingest writes them.
 *
 *     struct world *w = world_new();                 4 partitions of "orders", nothing in them
 *     world_put(w, "a", 100);                        a record in the key's home; the next offset; time 100
 *     world_settle(w);                               Redis holds what the contract says, all is committed
 *     struct fixture fx; fixture_open(&fx);
 *     fixture_add(&fx, w);                           run 1
 *
 * Times are small numbers of milliseconds; Redis is sampled at WORLD_NOW_MS.
 */
#ifndef TESTS_UNIT_INDEX_FIXTURE_H
#define TESTS_UNIT_INDEX_FIXTURE_H

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
	bool uncovered;
	const char *reason;      /* no horizon, and why */
	int64_t gap_from, gap_to; /* a gap_range "trimmed"; empty: none */
};

struct world_topic {
	const char *name;
	int role;
	int32_t partitions;
	struct world_record *record;
	size_t records;
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
				   .record = xarray(WORLD_RECORDS, sizeof(*t->record)) };
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
			.from = UNKNOWN, .committed = UNKNOWN, .last_stable = UNKNOWN, .high_watermark = UNKNOWN
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
	struct world_record *r = &t->record[t->records++];

	assert_true(t->records <= WORLD_RECORDS);
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

/*
 * --- writing it down ------------------------------------------------------------------------------------------------
 */

struct fixture {
	sqlite3 *db;
	atomic_int stop;
	struct run run;
	int64_t topic_id;        /* of the newest run's first topic */
};

static inline int64_t fixture_clock(void *context)
{
	(void)context;
	return INT64_C(1000) * WORLD_NOW_MS;
}

/* Fails the test with the words. */
static inline void must(int result, const struct trouble *t)
{
	if (result < 0)
		fail_msg("%s", t->text);
}

static inline void fixture_open(struct fixture *fx)
{
	struct trouble t = { 0 };

	*fx = (struct fixture){ .run = { .wall_us = fixture_clock, .tick_us = fixture_clock } };
	fx->run.memory = (size_t)64 << 20;
	assert_int_equal(sqlite3_open(":memory:", &fx->db), SQLITE_OK);
	assert_int_equal(functions_register(fx->db), SQLITE_OK);
	assert_int_equal(vtabs_register(fx->db), SQLITE_OK);
	fx->run.stop = &fx->stop;
	for (const struct sql_file *file = sql_schema_files; file->name; file++)
		must(db_script(fx->db, file->text, &t), &t);
}

static inline void fixture_close(struct fixture *fx)
{
	assert_int_equal(sqlite3_close(fx->db), SQLITE_OK);
}

/* One statement with integers bound; the first column of its first row, or UNKNOWN. */
static inline int64_t fixture_sql(struct fixture *fx, const char *sql, const int64_t *values, size_t n)
{
	struct trouble t = { 0 };
	sqlite3_stmt *stmt;
	int64_t answer = UNKNOWN;
	int more;

	must(db_prepare(fx->db, sql, &stmt, &t), &t);
	for (size_t i = 0; i < n; i++)
		db_bind_int(stmt, (int)i + 1, values[i]);
	more = db_step(stmt, &t);
	must(more, &t);
	if (more > 0)
		answer = db_int(stmt, 0);
	sqlite3_finalize(stmt);
	return answer;
}

#define FIXTURE_SQL(fx, sql, ...) \
	fixture_sql(fx, sql, (const int64_t[]){ __VA_ARGS__ }, sizeof((const int64_t[]){ __VA_ARGS__ }) / 8)

static inline int64_t fixture_incarnation(struct fixture *fx, const struct world *w, const struct world_topic *t)
{
	char *find = xprintf(
		"SELECT incarnation_id FROM incarnation WHERE topic = '%s' AND ended_run IS NULL AND 1 = ?1", t->name);
	char *add = xprintf("INSERT INTO incarnation (cluster, topic, isolation, begun_run, compacted, policy_unknown) "
			    "VALUES ('cluster', '%s', '%s', ?1, ?2, ?3)",
			    t->name, w->pipeline.isolation);
	int64_t id = FIXTURE_SQL(fx, find, 1);

	if (id != UNKNOWN && t->fresh) {
		FIXTURE_SQL(fx, "UPDATE incarnation SET ended_run = ?1 WHERE incarnation_id = ?2", fx->run.id, id);
		id = UNKNOWN;
	}
	if (id == UNKNOWN) {
		FIXTURE_SQL(fx, add, fx->run.id, t->compacted, t->policy_unknown);
		id = sqlite3_last_insert_rowid(fx->db);
	}
	free(find);
	free(add);
	return id;
}

static inline void fixture_seal(struct fixture *fx, struct chunk_builder *b, struct chunk_encoder *e,
				int64_t incarnation, const int64_t *place)
{
	struct chunk_span span = chunk_builder_span(b);
	struct chunk_blob blob = { 0 };
	struct trouble t = { 0 };
	sqlite3_stmt *stmt;

	if (!span.records)
		return;
	chunk_builder_seal(b, e, &blob);
	must(db_prepare(fx->db,
			"INSERT INTO chunk (incarnation_id, partition, kind, first_offset, end_offset, records, "
			"min_ms, max_ms, data) "
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			&stmt, &t),
	     &t);
	db_bind_int(stmt, 1, incarnation);
	db_bind_int(stmt, 2, place[0]);
	db_bind_int(stmt, 3, place[1]);
	db_bind_int(stmt, 4, span.first_offset);
	db_bind_int(stmt, 5, span.end_offset);
	db_bind_int(stmt, 6, (int64_t)span.records);
	db_bind_int(stmt, 7, span.min_ms);
	db_bind_int(stmt, 8, span.max_ms);
	db_bind_blob(stmt, 9, blob.data, blob.size);
	must(db_run(stmt, &t), &t);
	sqlite3_finalize(stmt);
	chunk_blob_release(&blob);
}

static inline struct record fixture_record(const struct world_record *r)
{
	return (struct record){
		.offset = r->offset,
		.timestamp_ms = r->ms,
		.key = r->key,
		.key_size = r->key ? (int32_t)strlen(r->key) : -1,
		.value_size = r->tombstone ? -1 : 10,
		.value_hash = r->tombstone ? 0 : (uint64_t)value_hash_at(r->partition, r->offset),
		.has_number = r->has_number,
		.number = r->number,
		.source_topic = r->source_topic,
		.source_topic_size = r->source_topic ? strlen(r->source_topic) : 0,
		.source_partition = r->source_partition,
		.source_offset = r->source_offset,
	};
}

/* Records of one partition and kind at or above an offset, in order, 7 to a chunk so that chunks have borders. */
static inline void fixture_chunks(struct fixture *fx, const struct world_topic *w, int64_t incarnation,
				  const int64_t *place, int64_t from)
{
	struct chunk_encoder *e = chunk_encoder_new(1);
	struct chunk_builder *b = chunk_builder_new(CHUNK_OFFSET | CHUNK_TIMESTAMP | CHUNK_KEY | CHUNK_VALUE_SIZE |
						    CHUNK_VALUE_HASH | CHUNK_FLAGS | CHUNK_NUMBER | CHUNK_SOURCE);
	struct trouble t = { 0 };
	size_t in = 0;

	for (size_t i = 0; i < w->records; i++) {
		struct record record = fixture_record(&w->record[i]);

		if (w->record[i].partition != place[0] || w->record[i].aborted != place[1] || record.offset < from)
			continue;
		must(chunk_builder_add(b, &record, &t), &t);
		if (++in % 7 == 0)
			fixture_seal(fx, b, e, incarnation, place);
	}
	fixture_seal(fx, b, e, incarnation, place);
	chunk_builder_free(b);
	chunk_encoder_free(e);
}

static inline int64_t fixture_records_in(const struct world_topic *t, int32_t partition)
{
	int64_t n = 0;

	for (size_t i = 0; i < t->records; i++)
		n += t->record[i].partition == partition && !t->record[i].aborted;
	return n;
}

static inline void fixture_horizon(struct fixture *fx, const struct world *w, const struct world_topic *t, int32_t p,
				   int64_t topic_id)
{
	const struct world_part *part = &t->part[p];
	struct trouble trouble = { 0 };
	int64_t stable = part->last_stable == UNKNOWN ? part->next : part->last_stable;
	int64_t high = part->high_watermark == UNKNOWN ? stable : part->high_watermark;
	int64_t start = part->from != UNKNOWN && part->from > part->first ? part->from : part->first;
	const char *reason = part->reason;
	struct fact_horizon h = {
		.run_id = fx->run.id,
		.topic_id = topic_id,
		.partition = p,
		.log_start = part->log_start,
		.log_start_us = w->run_us - 900,
		.end_first = stable,
		.end_first_us = w->run_us - 800,
		.log_start_before_commit = part->log_start,
		.log_start_before_commit_us = w->run_us - 700,
		.high_watermark_before_commit = high,
		.high_watermark_before_commit_us = w->run_us - 650,
		.committed = part->committed,
		.committed_us = w->run_us - 600,
		.last_stable = stable,
		.last_stable_us = w->run_us + 100,
		.high_watermark = high,
		.high_watermark_us = w->run_us + 110,
		.last_high_watermark = high,
		.last_high_watermark_us = w->run_us + 200,
		.indexed_start = part->first,
		.indexed_end = part->next,
		.from_offset = part->from,
		.start_offset = UNKNOWN,
		.end_offset = UNKNOWN,
		.covered = !part->uncovered,
		.records = fixture_records_in(t, p),
	};

	if (!reason && h.records == 0)
		reason = "empty";
	if (!reason && part->committed == UNKNOWN)
		reason = "no-commit";
	if (!reason && t->role == SOURCE) {
		h.start_offset = start;
		h.end_offset = part->committed < part->next ? part->committed : part->next;
		if (h.end_offset < start)
			h.end_offset = start;
		h.end_source = "committed";
	} else {
		h.reason = t->role == SOURCE ? reason : NULL;
	}
	must(fact_horizon_add(fx->db, &h, NULL, &trouble), &trouble);
}

static inline void fixture_part(struct fixture *fx, const struct world *w, const struct world_topic *t, int32_t p,
				const int64_t *ids)
{
	const struct world_part *part = &t->part[p];
	int64_t from = FIXTURE_SQL(fx, "SELECT next_offset FROM partition WHERE incarnation_id = ?1 AND partition = ?2",
				   ids[1], p);

	fixture_chunks(fx, t, ids[1], (const int64_t[]){ p, 0 }, from == UNKNOWN ? 0 : from);
	fixture_chunks(fx, t, ids[1], (const int64_t[]){ p, 1 }, from == UNKNOWN ? 0 : from);
	FIXTURE_SQL(fx,
		    "INSERT INTO partition (incarnation_id, partition, first_offset, next_offset, gap_offset) VALUES "
		    "(?1, ?2, ?3, ?4, ?4) "
		    "ON CONFLICT DO UPDATE SET next_offset = excluded.next_offset",
		    ids[1], p, part->first, part->next);
	if (part->gap_from < part->gap_to)
		FIXTURE_SQL(
			fx,
			"INSERT INTO gap_range (incarnation_id, partition, start_offset, end_offset, class, run_id) "
			"VALUES (?1, ?2, ?3, ?4, 'trimmed', ?5)",
			ids[1], p, part->gap_from, part->gap_to, fx->run.id);
	fixture_horizon(fx, w, t, p, ids[0]);
}

static inline int64_t fixture_topic(struct fixture *fx, const struct world *w, const struct world_topic *t,
				    int64_t pipeline_id)
{
	struct fact_topic fact = t->fact;
	struct trouble trouble = { 0 };
	int64_t ids[2];

	ids[1] = fixture_incarnation(fx, w, t);
	fact.run_id = fx->run.id;
	fact.pipeline_id = pipeline_id;
	fact.incarnation_id = ids[1];
	must(fact_topic_add(fx->db, &fact, &ids[0], &trouble), &trouble);
	for (int32_t p = 0; p < t->partitions; p++)
		fixture_part(fx, w, t, p, ids);
	return ids[0];
}

static inline void fixture_fences(struct fixture *fx, const struct world *w)
{
	struct trouble t = { 0 };

	for (size_t i = 0; i < w->fences; i++) {
		struct fact_fence fact = w->fence[i].fact;
		const char *key = w->fence[i].key;
		char *redis_key = xprintf("state:%s", key);

		fact.run_id = fx->run.id;
		fact.topic_id = fx->topic_id;
		fact.hash = key_hash(key, strlen(key));
		fact.key = (struct bytes){ key, strlen(key) };
		fact.redis_key = (struct bytes){ redis_key, strlen(redis_key) };
		must(fact_fence_add(fx->db, &fact, NULL, &t), &t);
		free(redis_key);
	}
}

static inline void fixture_rest(struct fixture *fx, const struct world *w)
{
	struct trouble t = { 0 };

	for (size_t i = 0; i < w->epochs; i++) {
		struct fact_epoch fact = w->epoch[i].fact;
		char *redis_key = xprintf("epoch:orders:%d", (int)w->epoch[i].partition);

		fact.run_id = fx->run.id;
		fact.topic_id = fx->topic_id;
		fact.partition = w->epoch[i].partition;
		fact.redis_key = (struct bytes){ redis_key, strlen(redis_key) };
		must(fact_epoch_add(fx->db, &fact, NULL, &t), &t);
		free(redis_key);
	}
	if (w->rewritten) {
		struct fact_rewrite fact = w->rewrite;

		fact.run_id = fx->run.id;
		fact.new_incarnation_id =
			FIXTURE_SQL(fx, "SELECT incarnation_id FROM topic WHERE topic_id = ?1", fx->topic_id);
		must(fact_rewrite_add(fx->db, &fact, NULL, &t), &t);
	}
	if (w->max_findings) {
		struct fact_setting fact = { .run_id = fx->run.id, .name = "max.findings", .value = w->max_findings };

		must(fact_setting_add(fx->db, &fact, NULL, &t), &t);
	}
}

/* Adds the world as one more run. */
static inline void fixture_add(struct fixture *fx, const struct world *w)
{
	struct fact_pipeline pipeline = w->pipeline;
	struct trouble t = { 0 };
	int64_t pipeline_id;

	fx->run.id++;
	FIXTURE_SQL(fx,
		    "INSERT INTO run (run_id, command, tool, config, config_sha256, started_us, reached) "
		    "VALUES (?1, 'audit', 'fencepost', 'f.yaml', '00', ?2, 'sampled')",
		    fx->run.id, w->run_us - 1000);
	pipeline.run_id = fx->run.id;
	must(fact_pipeline_add(fx->db, &pipeline, &pipeline_id, &t), &t);
	for (int i = 0; i < 4 && w->before[i]; i++)
		FIXTURE_SQL(fx, "INSERT INTO partitions_before (pipeline_id, ordinal, partitions) VALUES (?1, ?2, ?3)",
			    pipeline_id, i, w->before[i]);
	for (size_t i = 0; i < w->topics; i++) {
		int64_t topic_id = fixture_topic(fx, w, &w->topic[i], pipeline_id);

		if (i == 0)
			fx->topic_id = topic_id;
	}
	fixture_fences(fx, w);
	fixture_rest(fx, w);
}

#endif

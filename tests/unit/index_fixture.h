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

#include "world.h"

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
	int64_t last = part->last_high_watermark == UNKNOWN ? high : part->last_high_watermark;
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
		.last_high_watermark = part->last_unread ? UNKNOWN : last,
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

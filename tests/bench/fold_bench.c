/*
 * fold_bench: the fold alone, over a made history in a file.
 *
 *     fold_bench [RECORDS [KEYS [PARTITIONS [SAMPLED [MEMORY_MIB]]]]]      2000000 200000 12 1000000 256
 *
 *     records=2000000 keys=200000 partitions=12 sampled=200000 fold_s=0.163 records_per_s=12269938
 *     fold_cpu_s=0.160 check_s=0.9 findings=0 peak_mib=311
 *
 * Keys are "user-N", records 15 B key and 80 B value, each key in its home, all applied and committed. sampled: how
 * many keys are in the sample.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/analyzer.h"
#include "analyzer/fold.h"
#include "sql/chunk.h"
#include "sql/db.h"
#include "sql/facts.h"
#include "sql/functions.h"
#include "sql/keyhash.h"
#include "sql/mem.h"
#include "sql/partitioner.h"
#include "sql/record.h"
#include "sql_data.h"

struct bench {
	int64_t records, keys, partitions, sampled;
	sqlite3 *db;
	struct run run;
	atomic_int stop;
	int64_t *next;           /* per partition: the next offset */
	int64_t *newest;         /* per key: offset of its newest record */
	struct chunk_builder **builder;
	struct chunk_encoder *encoder;
	int64_t topic_id;
};

static int64_t clock_us(void *context)
{
	struct timespec ts;

	(void)context;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* CPU time of this process, which other work on the machine does not stretch. */
static double cpu_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void must(int result, const struct trouble *t)
{
	if (result >= 0)
		return;
	fprintf(stderr, "fold_bench: %s\n", t->text);
	exit(1);
}

static int64_t threshold(const struct bench *b)
{
	return b->sampled >= b->keys ? INT64_MAX : (int64_t)((double)INT64_MAX / (double)b->keys * (double)b->sampled);
}

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static void seal(struct bench *b, sqlite3_stmt *to, int32_t partition)
{
	struct chunk_span span = chunk_builder_span(b->builder[partition]);
	struct chunk_blob blob = { 0 };
	struct trouble t = { 0 };

	if (!span.records)
		return;
	chunk_builder_seal(b->builder[partition], b->encoder, &blob);
	db_bind_int(to, 1, partition);
	db_bind_int(to, 2, span.first_offset);
	db_bind_int(to, 3, span.end_offset);
	db_bind_int(to, 4, (int64_t)span.records);
	db_bind_int(to, 5, span.min_ms);
	db_bind_int(to, 6, span.max_ms);
	db_bind_blob(to, 7, blob.data, blob.size);
	must(db_run(to, &t), &t);
	chunk_blob_release(&blob);
}

static void add_record(struct bench *b, sqlite3_stmt *to, int64_t number, uint64_t *seed)
{
	char key[32];
	int64_t n = (int64_t)(next_random(seed) % (uint64_t)b->keys);
	int size = snprintf(key, sizeof(key), "user-%010lld", (long long)n);
	int32_t partition = home_partition(key, (size_t)size, (int32_t)b->partitions);
	struct record record = { .offset = b->next[partition]++,
				 .timestamp_ms = INT64_C(1700000000000) + number / 100,
				 .key = key,
				 .key_size = size,
				 .value_size = 80,
				 .value_hash = next_random(seed) };
	struct trouble t = { 0 };

	b->newest[n] = record.offset;
	must(chunk_builder_add(b->builder[partition], &record, &t), &t);
	if (chunk_builder_full(b->builder[partition]))
		seal(b, to, partition);
}

static void make_history(struct bench *b)
{
	struct trouble t = { 0 };
	sqlite3_stmt *to;
	uint64_t seed = 42;

	must(db_prepare(b->db,
			"INSERT INTO chunk (incarnation_id, partition, kind, first_offset, end_offset, records, "
			"min_ms, max_ms, data) "
			"VALUES (1, ?, 0, ?, ?, ?, ?, ?, ?)",
			&to, &t),
	     &t);
	b->next = xarray((size_t)b->partitions, sizeof(*b->next));
	b->newest = xarray((size_t)b->keys, sizeof(*b->newest));
	b->builder = xarray((size_t)b->partitions, sizeof(*b->builder));
	b->encoder = chunk_encoder_new(-5);
	for (int64_t p = 0; p < b->partitions; p++)
		b->builder[p] = chunk_builder_new(CHUNK_OFFSET | CHUNK_TIMESTAMP | CHUNK_KEY | CHUNK_VALUE_SIZE |
						  CHUNK_VALUE_HASH | CHUNK_FLAGS);
	for (int64_t i = 0; i < b->keys; i++)
		b->newest[i] = -1;
	for (int64_t i = 0; i < b->records; i++)
		add_record(b, to, i, &seed);
	for (int64_t p = 0; p < b->partitions; p++) {
		seal(b, to, (int32_t)p);
		chunk_builder_free(b->builder[p]);
	}
	chunk_encoder_free(b->encoder);
	free(b->builder);
	sqlite3_finalize(to);
}

static void make_horizons(struct bench *b)
{
	struct trouble t = { 0 };

	for (int64_t p = 0; p < b->partitions; p++) {
		int64_t end = b->next[p];
		struct fact_horizon h = {
			.run_id = 1,
			.topic_id = b->topic_id,
			.partition = p,
			.end_first = end,
			.committed = end,
			.last_stable = end,
			.high_watermark = end,
			.last_high_watermark = end,
			.last_high_watermark_us = 3,
			.high_watermark_us = 2,
			.last_stable_us = 2,
			.indexed_end = end,
			.from_offset = UNKNOWN,
			.end_offset = end,
			.end_source = "committed",
			.covered = 1,
			.records = end,
		};
		sqlite3_stmt *stmt;

		must(fact_horizon_add(b->db, &h, NULL, &t), &t);
		must(db_prepare(b->db, "INSERT INTO partition VALUES (1, ?, 0, ?, ?)", &stmt, &t), &t);
		db_bind_int(stmt, 1, p);
		db_bind_int(stmt, 2, end);
		db_bind_int(stmt, 3, end);
		must(db_run(stmt, &t), &t);
		sqlite3_finalize(stmt);
	}
}

static void make_fences(struct bench *b)
{
	struct trouble t = { 0 };
	sqlite3_stmt *to;

	must(db_prepare(b->db, fact_fence_sql, &to, &t), &t);
	for (int64_t i = 0; i < b->keys; i++) {
		char redis_key[40];
		int size = snprintf(redis_key, sizeof(redis_key), "state:user-%010lld", (long long)i);
		const char *key = redis_key + strlen("state:");
		size_t key_size = (size_t)size - strlen("state:");
		struct fact_fence fence = {
			.run_id = 1,
			.topic_id = b->topic_id,
			.hash = key_hash(key, key_size),
			.key = { key, key_size },
			.redis_key = { redis_key, (size_t)size },
			.strata = 1,
			.sampled_us = 1,
			.present = 1,
			.partition = home_partition(key, key_size, (int32_t)b->partitions),
			.offset = b->newest[i],
			.value_hash = UNKNOWN,
			.value_number = UNKNOWN,
			.ttl_ms = -1,
			.field_ttl_ms = UNKNOWN,
			.slot = 1,
			.node = "n",
		};

		if (b->newest[i] < 0 || fence.hash >= threshold(b))
			continue;
		fact_fence_bind(to, &fence);
		must(db_run(to, &t), &t);
	}
	sqlite3_finalize(to);
}

static void make_facts(struct bench *b)
{
	struct fact_pipeline pipeline = {
		.run_id = 1,
		.name = "bench",
		.mapping_sha256 = "",
		.kafka = "",
		.group_id = "g",
		.redis = "r",
		.partitioner = "murmur2",
		.hot_share = UNKNOWN,
		.state = "opaque",
		.tombstones = "apply",
		.expires_ms = UNKNOWN,
		.isolation = "read_committed",
		.horizon = "committed",
		.from_kind = "beginning",
		.rejects = "none",
		.recent_ms = 600000,
		.mapping = "fits",
	};
	struct fact_topic topic = {
		.run_id = 1,
		.topic = "bench",
		.role = "source",
		.incarnation_id = 1,
		.partitions = b->partitions,
		.partitions_at_start = b->partitions,
		.cleanup_policy = "delete",
		.retention_ms = -1,
		.main_threshold = threshold(b),
		.recent_threshold = INT64_MAX,
		.recent_from_ms = INT64_MAX,
	};
	struct trouble t = { 0 };

	must(db_script(b->db,
		       "INSERT INTO run (run_id, command, tool, config, config_sha256, started_us, reached) VALUES (1, "
		       "'audit', '', '', '', 0, "
		       "'sampled'); INSERT INTO incarnation (cluster, topic, isolation, begun_run) VALUES ('', "
		       "'bench', 'read_committed', 1)",
		       &t),
	     &t);
	must(fact_pipeline_add(b->db, &pipeline, &topic.pipeline_id, &t), &t);
	must(fact_topic_add(b->db, &topic, &b->topic_id, &t), &t);
}

static void make_index(struct bench *b, const char *path)
{
	struct trouble t = { 0 };

	if (sqlite3_open(path, &b->db) != SQLITE_OK || functions_register(b->db) != SQLITE_OK ||
	    vtabs_register(b->db) != SQLITE_OK)
		must(db_trouble(b->db, &t, "open"), &t);
	must(db_script(b->db,
		       "PRAGMA page_size = 16384; PRAGMA journal_mode = TRUNCATE; PRAGMA foreign_keys = OFF; PRAGMA "
		       "cache_size = -32768; BEGIN",
		       &t),
	     &t);
	for (const struct sql_file *file = sql_schema_files; file->name; file++)
		must(db_script(b->db, file->text, &t), &t);
	make_facts(b);
	make_history(b);
	make_horizons(b);
	make_fences(b);
	must(db_script(b->db, "COMMIT", &t), &t);
	free(b->next);
	free(b->newest);
}

static int64_t one(struct bench *b, const char *sql)
{
	struct trouble t = { 0 };
	sqlite3_stmt *stmt;
	int64_t answer;

	must(db_prepare(b->db, sql, &stmt, &t), &t);
	must(db_step(stmt, &t), &t);
	answer = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return answer;
}

/*
 * The most memory that the process has held, in MiB; the making of the history included unless it was another process.
 */
static long peak_mib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss / 1024;
}

int main(int argc, char **argv)
{
	int64_t option[5] = { 2000000, 200000, 12, 1000000, 256 };
	char path[] = "/tmp/fold_bench.XXXXXX";
	struct trouble t = { 0 };
	struct bench b;
	int64_t fold_us, all_us;
	double fold_cpu;
	int fd;

	for (int i = 1; i < argc && i <= 5; i++)
		option[i - 1] = strtoll(argv[i], NULL, 10);
	b = (struct bench){
		.records = option[0],
		.keys = option[1],
		.partitions = option[2],
		.sampled = option[3],
		.run = { .id = 1, .wall_us = clock_us, .tick_us = clock_us, .memory = (size_t)option[4] << 20 }
	};
	b.run.stop = &b.stop;
	fd = mkstemp(path);
	if (fd < 0)
		return 1;
	close(fd);
	make_index(&b, path);
	fold_cpu = cpu_s();
	fold_us = clock_us(NULL);
	must(db_begin(b.db, &t), &t);
	must(fold_run(&b.run, b.db, &t), &t);
	must(db_commit(b.db, &t), &t);
	fold_us = clock_us(NULL) - fold_us;
	fold_cpu = cpu_s() - fold_cpu;
	all_us = clock_us(NULL);
	must(analyzer_check(&b.run, b.db, &(struct analyzer_options){ 0 }, &t), &t);
	all_us = clock_us(NULL) - all_us;
	printf("records=%lld keys=%lld partitions=%lld sampled=%lld fold_s=%.3f records_per_s=%.0f fold_cpu_s=%.3f "
	       "check_s=%.3f findings=%lld peak_mib=%ld\n",
	       (long long)b.records, (long long)b.keys, (long long)b.partitions,
	       (long long)one(&b, "SELECT count(*) FROM fence_state"), (double)fold_us / 1e6,
	       (double)b.records * 1e6 / (double)fold_us, fold_cpu,
	       (double)(all_us - one(&b, "SELECT duration_us FROM stage WHERE name = 'fold'")) / 1e6,
	       (long long)one(&b, "SELECT count(*) FROM finding"), peak_mib());
	sqlite3_close(b.db);
	unlink(path);
	return 0;
}

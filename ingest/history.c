/* history: builders, and the jobs that carry sealed chunks to the writer. */
#include "ingest/history.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL /* short values: a call would cost as much as the hash */
#include <xxhash.h>

#include "sql/chunk.h"
#include "sql/db.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"
#include "sql_data.h"

enum {
	MEASURE_RECORDS = 256, /* a builder's memory is measured anew after so many records */
	MEASURE_BYTES = 65536, /* or so many bytes of keys */
	PROGRESS_RECORDS = 65536,
};

/* One part's builder. Its thread alone touches it. */
struct history_part {
	struct chunk_builder *builder;
	size_t bytes; /* the builder's memory, as measured last */
	size_t unmeasured, records_unmeasured;
	int64_t records;
};

/* What the writer does: a chunk, a hole, or only how far the partition has come. */
struct history_job {
	struct history *history;
	struct history_job *next_free;
	const struct replay_part *part;
	struct chunk_span span; /* records 0: no chunk */
	struct chunk_blob blob;
	int64_t position;     /* everything below was read */
	int64_t trimmed_from; /* UNKNOWN: no hole */
};

struct history {
	const struct run *run;
	struct writer *writer;
	const struct replay_part *parts;
	struct history_part *states;
	size_t count;
	int64_t total;
	atomic_llong done;
	atomic_int threads;   /* that ever came */
	pthread_mutex_t lock; /* of the free jobs: their blobs are used again */
	struct history_job *free_jobs;
};

struct history_thread {
	struct history *history;
	struct chunk_encoder *encoder;
	size_t *owned, owned_count; /* parts with a builder */
	size_t bytes;               /* of their builders */
	int64_t unreported;         /* records not yet in done */
};

/* --- jobs -------------------------------------------------------------------------------------------------------- */

static struct history_job *job_new(struct history *history, size_t part)
{
	struct history_job *job;

	pthread_mutex_lock(&history->lock);
	job = history->free_jobs;
	if (job)
		history->free_jobs = job->next_free;
	pthread_mutex_unlock(&history->lock);
	if (!job)
		job = xalloc(sizeof(*job));
	job->history = history;
	job->part = &history->parts[part];
	job->span = (struct chunk_span){ 0 };
	job->trimmed_from = UNKNOWN;
	return job;
}

static void job_done(void *opaque)
{
	struct history_job *job = opaque;
	struct history *history = job->history;

	pthread_mutex_lock(&history->lock);
	job->next_free = history->free_jobs;
	history->free_jobs = job;
	pthread_mutex_unlock(&history->lock);
}

static int add_chunk(struct writer *writer, const struct history_job *job, struct trouble *t)
{
	sqlite3_stmt *stmt = writer_statement(writer, sql_queries_chunk_add, t);

	if (!stmt)
		return -1;
	db_bind_int(stmt, 1, job->part->incarnation_id);
	db_bind_int(stmt, 2, job->part->partition);
	db_bind_int(stmt, 3, CHUNK_COMMITTED);
	db_bind_int(stmt, 4, job->span.first_offset);
	db_bind_int(stmt, 5, job->span.end_offset);
	db_bind_int(stmt, 6, (int64_t)job->span.records);
	db_bind_int(stmt, 7, job->span.min_ms);
	db_bind_int(stmt, 8, job->span.max_ms);
	db_bind_blob(stmt, 9, job->blob.data, job->blob.size);
	return FAULT(CHUNK_WRITE) ? trouble_set(t, "a chunk cannot be inserted") : db_run(stmt, t);
}

static int add_hole(struct writer *writer, const struct history_job *job, struct trouble *t)
{
	sqlite3_stmt *stmt = writer_statement(writer, sql_queries_gap_range_add, t);

	if (!stmt)
		return -1;
	db_bind_int(stmt, 1, job->part->incarnation_id);
	db_bind_int(stmt, 2, job->part->partition);
	db_bind_int(stmt, 3, job->trimmed_from);
	db_bind_int(stmt, 4, job->position);
	db_bind_text(stmt, 5, "trimmed");
	db_bind_int(stmt, 6, job->history->run->id);
	return db_run(stmt, t);
}

static int apply(struct writer *writer, void *opaque, struct trouble *t)
{
	const struct history_job *job = opaque;
	sqlite3_stmt *stmt = writer_statement(writer, sql_queries_partition_next, t);
	int result;

	if (!stmt)
		return -1;
	db_bind_int(stmt, 1, job->part->incarnation_id);
	db_bind_int(stmt, 2, job->part->partition);
	db_bind_int(stmt, 3, job->position);
	result = db_run(stmt, t);
	if (result == 0 && job->span.records > 0)
		result = add_chunk(writer, job, t);
	if (result == 0 && job->trimmed_from != UNKNOWN)
		result = add_hole(writer, job, t);
	if (result < 0)
		trouble_wrap(t, "history of %s/%d", job->part->topic, job->part->partition);
	return result;
}

static int push(struct history *history, struct history_job *job)
{
	return writer_push(history->writer, apply, job_done, job, sizeof(*job) + job->blob.size);
}

/* --- the sink ---------------------------------------------------------------------------------------------------- */

struct history *history_new(const struct run *run, struct writer *writer, const struct replay_part *parts, size_t count)
{
	struct history *history = xalloc(sizeof(*history));

	history->run = run;
	history->writer = writer;
	history->parts = parts;
	history->count = count;
	history->states = xarray(count, sizeof(*history->states));
	for (size_t i = 0; i < count; i++)
		history->total += parts[i].end > parts[i].next ? parts[i].end - parts[i].next : 0;
	pthread_mutex_init(&history->lock, NULL);
	return history;
}

void history_free(struct history *history)
{
	struct history_job *job;

	if (!history)
		return;
	while ((job = history->free_jobs)) {
		history->free_jobs = job->next_free;
		chunk_blob_release(&job->blob);
		free(job);
	}
	for (size_t i = 0; i < history->count; i++)
		chunk_builder_free(history->states[i].builder);
	pthread_mutex_destroy(&history->lock);
	free(history->states);
	free(history);
}

int64_t history_records(const struct history *history, size_t part)
{
	return history->states[part].records;
}

struct history_thread *history_enter(struct history *history)
{
	struct history_thread *thread = xalloc(sizeof(*thread));

	atomic_fetch_add(&history->threads, 1);
	thread->history = history;
	thread->encoder = chunk_encoder_new(HISTORY_LEVEL);
	thread->owned = xarray(history->count, sizeof(*thread->owned));
	return thread;
}

static void report(struct history_thread *thread)
{
	struct history *history = thread->history;
	int64_t done = atomic_fetch_add(&history->done, thread->unreported) + thread->unreported;

	thread->unreported = 0;
	run_progress(history->run, "replay", "records", done, history->total > done ? history->total : done);
}

void history_leave(struct history_thread *thread)
{
	report(thread);
	chunk_encoder_free(thread->encoder);
	free(thread->owned);
	free(thread);
}

static void measure(struct history_thread *thread, struct history_part *state)
{
	size_t bytes = chunk_builder_bytes(state->builder);

	thread->bytes += bytes - state->bytes;
	state->bytes = bytes;
	state->unmeasured = state->records_unmeasured = 0;
}

/* The builder's records become a chunk; the partition has come to position. */
static int seal(struct history_thread *thread, size_t part, int64_t position)
{
	struct history *history = thread->history;
	struct history_job *job = job_new(history, part);
	struct chunk_builder *builder = history->states[part].builder;

	job->position = position;
	job->blob.size = 0;
	if (builder)
		job->span = chunk_builder_span(builder);
	if (job->span.records > 0)
		chunk_builder_seal(builder, thread->encoder, &job->blob);
	return push(history, job);
}

static int seal_largest(struct history_thread *thread)
{
	struct history_part *states = thread->history->states;
	size_t largest = thread->owned[0];
	struct chunk_span span;
	int result = 0;

	for (size_t i = 1; i < thread->owned_count; i++)
		if (states[thread->owned[i]].bytes > states[largest].bytes)
			largest = thread->owned[i];
	span = chunk_builder_span(states[largest].builder);
	if (span.records > 0)
		result = seal(thread, largest, span.end_offset);
	chunk_builder_shrink(states[largest].builder);
	measure(thread, &states[largest]);
	return result;
}

/* Down to seven eighths, so that the next record does not begin over. */
static int keep_within(struct history_thread *thread)
{
	size_t most = (size_t)HISTORY_MEMORY / (size_t)atomic_load(&thread->history->threads);

	if (thread->bytes <= most)
		return 0;
	for (size_t i = 0; thread->bytes > most - most / 8 && i < thread->owned_count; i++)
		if (seal_largest(thread) < 0)
			return -1;
	return 0;
}

static struct history_part *owned_part(struct history_thread *thread, size_t part)
{
	struct history_part *state = &thread->history->states[part];
	unsigned columns = CHUNK_ALWAYS;

	if (state->builder)
		return state;
	if (thread->history->parts[part].numbers)
		columns |= CHUNK_NUMBER;
	if (thread->history->parts[part].header)
		columns |= CHUNK_SOURCE;
	state->builder = chunk_builder_new(columns);
	thread->owned[thread->owned_count++] = part;
	measure(thread, state);
	return state;
}

/*
 * Field by field, for the same reason as in kafka_replay.c. Producers choose times, and one may choose the number that
 * stands for UNKNOWN: it is kept as the next one.
 */
static inline void record_fill(const struct raw_record *raw, bool numbers, struct record *out)
{
	out->offset = raw->offset;
	out->timestamp_ms = raw->timestamp_ms == UNKNOWN ? UNKNOWN + 1 : raw->timestamp_ms;
	out->key = raw->key;
	out->key_size = raw->key_size;
	out->value_size = raw->value_size;
	out->value_hash = raw->value_size < 0 ? 0 : XXH3_64bits(raw->value, (size_t)raw->value_size);
	out->has_number = numbers && raw->value_size > 0 && history_number(raw->value, raw->value_size, &out->number);
	out->source_topic = NULL;
	if (raw->header)
		history_source(raw->header, raw->header_size, out);
}

int history_add(struct history_thread *thread, size_t part, const struct raw_record *raw, struct trouble *t)
{
	struct history_part *state = owned_part(thread, part);
	struct record record;

	record_fill(raw, thread->history->parts[part].numbers, &record);
	if (chunk_builder_add(state->builder, &record, t) < 0)
		return trouble_wrap(t, "%s/%d: offset %lld", thread->history->parts[part].topic,
				    thread->history->parts[part].partition, (long long)raw->offset);
	state->records++;
	if (++thread->unreported >= PROGRESS_RECORDS)
		report(thread);
	if (chunk_builder_full(state->builder))
		return seal(thread, part, raw->offset + 1);
	state->unmeasured += raw->key_size > 0 ? (size_t)raw->key_size : 0;
	if (++state->records_unmeasured < MEASURE_RECORDS && state->unmeasured < MEASURE_BYTES)
		return 0;
	measure(thread, state);
	return keep_within(thread);
}

int history_trimmed(struct history_thread *thread, size_t part, int64_t from, int64_t log_start)
{
	struct history_job *job;

	if (history_end(thread, part, from) < 0)
		return -1;
	job = job_new(thread->history, part);
	job->blob.size = 0;
	job->position = log_start;
	job->trimmed_from = from;
	return push(thread->history, job);
}

int history_end(struct history_thread *thread, size_t part, int64_t position)
{
	struct history_part *state = &thread->history->states[part];
	int result = seal(thread, part, position);

	if (state->builder) {
		chunk_builder_shrink(state->builder);
		measure(thread, state);
	}
	return result;
}

/* --- records ----------------------------------------------------------------------------------------------------- */

bool history_number(const void *bytes, int64_t size, int64_t *number)
{
	const char *digits = bytes;
	int64_t value = 0;
	int64_t i = size > 0 && digits[0] == '-';
	bool negative = i == 1;

	if (i >= size)
		return false;
	for (; i < size; i++) {
		int digit = digits[i] - '0';

		if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_sub_overflow(value, digit, &value)) /* downwards: INT64_MIN has no positive twin */
			return false;
	}
	if (!negative && value == INT64_MIN)
		return false;
	*number = negative ? value : -value;
	return true;
}

bool history_source(const void *header, size_t size, struct record *out)
{
	const char *text = header;
	const char *offset = header ? memrchr(text, '/', size) : NULL;
	const char *partition = offset ? memrchr(text, '/', (size_t)(offset - text)) : NULL;
	int64_t numbers[2];

	if (!partition || partition == text || partition[1] == '-' || offset[1] == '-' ||
	    !history_number(partition + 1, offset - partition - 1, &numbers[0]) ||
	    !history_number(offset + 1, text + size - offset - 1, &numbers[1]) || numbers[0] > INT32_MAX)
		return false;
	out->source_topic = text;
	out->source_topic_size = (size_t)(partition - text);
	out->source_partition = (int32_t)numbers[0];
	out->source_offset = numbers[1];
	return true;
}

void history_record(const struct raw_record *raw, bool numbers, struct record *out)
{
	record_fill(raw, numbers, out);
}

/* gapwindow: passes over the holes, each as many as memory allows. */
#include "ingest/gapwindow.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "ingest/gapwalk.h"
#include "ingest/history.h"
#include "ingest/statement.h"
#include "sql/chunk.h"
#include "sql/db.h"
#include "sql/mem.h"
#include "sql/writer.h"
#include "sql_data.h"

enum {
	GAP_MEMORY = 64 << 20,  /* of all builders together */
	GAP_PROGRESS = 65536,   /* records between reports */
	GAP_HOLES_LEAST = 1024, /* a partition's share */
};

/* One partition in a pass. The thread that reads its windows alone touches it. */
struct gap_part {
	struct gap_work work;
	size_t at; /* the hole at or above the newest record */
	struct chunk_builder *builder;
	size_t windows_at; /* of the pass's windows */
	int64_t seen;      /* records below were compared with the holes; UNKNOWN: none yet */
	int64_t refused;   /* a record that the builder would not take; INT64_MAX: none */
	int64_t read;      /* records not yet reported */
};

struct gap_pass {
	const struct run *run;
	struct writer *writer;
	struct gap_part *parts;
	size_t count;
	struct reread_window *windows;
	size_t window_count;
	size_t part_memory;
	int64_t total; /* offsets in windows */
	atomic_llong done;
	pthread_mutex_t lock; /* of the encoder: aborted records are few */
	struct chunk_encoder *encoder;
};

/* What the writer does: aborted records, holes that stay unknown, and how far the holes were looked at. */
struct gap_job {
	int64_t incarnation_id, run_id;
	int32_t partition;
	struct chunk_span span; /* records 0: no chunk */
	struct chunk_blob blob;
	struct ranges unknown;
	int64_t position;
};

/* --- jobs -------------------------------------------------------------------------------------------------------- */

static void job_done(void *opaque)
{
	struct gap_job *job = opaque;

	chunk_blob_release(&job->blob);
	ranges_release(&job->unknown);
	free(job);
}

static int add_chunk(struct writer *writer, const struct gap_job *job, struct trouble *t)
{
	sqlite3_stmt *stmt = writer_statement(writer, sql_queries_chunk_add, t);

	if (!stmt)
		return -1;
	db_bind_int(stmt, 1, job->incarnation_id);
	db_bind_int(stmt, 2, job->partition);
	db_bind_int(stmt, 3, CHUNK_ABORTED);
	db_bind_int(stmt, 4, job->span.first_offset);
	db_bind_int(stmt, 5, job->span.end_offset);
	db_bind_int(stmt, 6, (int64_t)job->span.records);
	db_bind_int(stmt, 7, job->span.min_ms);
	db_bind_int(stmt, 8, job->span.max_ms);
	db_bind_blob(stmt, 9, job->blob.data, job->blob.size);
	return db_run(stmt, t);
}

static int add_unknown(struct writer *writer, const struct gap_job *job, struct horizon range, struct trouble *t)
{
	sqlite3_stmt *stmt = writer_statement(writer, sql_queries_gap_range_add, t);

	if (!stmt)
		return -1;
	db_bind_int(stmt, 1, job->incarnation_id);
	db_bind_int(stmt, 2, job->partition);
	db_bind_int(stmt, 3, range.start);
	db_bind_int(stmt, 4, range.end);
	db_bind_text(stmt, 5, "unknown");
	db_bind_int(stmt, 6, job->run_id);
	return db_run(stmt, t);
}

static int apply(struct writer *writer, void *opaque, struct trouble *t)
{
	const struct gap_job *job = opaque;
	sqlite3_stmt *stmt = writer_statement(writer, sql_queries_partition_gap, t);
	int result;

	if (!stmt)
		return -1;
	db_bind_int(stmt, 1, job->incarnation_id);
	db_bind_int(stmt, 2, job->partition);
	db_bind_int(stmt, 3, job->position);
	result = db_run(stmt, t);
	if (result == 0 && job->span.records > 0)
		result = add_chunk(writer, job, t);
	for (size_t i = 0; result == 0 && i < job->unknown.count; i++)
		result = add_unknown(writer, job, job->unknown.items[i], t);
	return result;
}

/*
 * Holes below position were looked at. unknown (may be NULL) moves into the job. A writer that failed speaks in
 * writer_stop.
 */
static void push(struct gap_pass *pass, struct gap_part *part, int64_t position, struct ranges *unknown)
{
	struct gap_job *job = xalloc(sizeof(*job));

	job->incarnation_id = part->work.topic->incarnation_id;
	job->run_id = pass->run->id;
	job->partition = part->work.part->partition;
	job->position = position;
	if (unknown) {
		job->unknown = *unknown;
		*unknown = (struct ranges){ 0 };
	}
	if (part->builder)
		job->span = chunk_builder_span(part->builder);
	if (job->span.records > 0) {
		pthread_mutex_lock(&pass->lock);
		chunk_builder_seal(part->builder, pass->encoder, &job->blob);
		pthread_mutex_unlock(&pass->lock);
	}
	(void)writer_push(pass->writer, apply, job_done, job, sizeof(*job) + job->blob.size);
}

/* --- records ----------------------------------------------------------------------------------------------------- */

static bool in_hole(struct gap_part *part, int64_t offset)
{
	const struct ranges *holes = &part->work.holes;

	while (part->at < holes->count && holes->items[part->at].end <= offset)
		part->at++;
	return part->at < holes->count && holes->items[part->at].start <= offset;
}

static void report(struct gap_pass *pass, struct gap_part *part)
{
	int64_t done = atomic_fetch_add(&pass->done, part->read) + part->read;

	part->read = 0;
	run_progress(pass->run, "replay", "records in holes", done, pass->total > done ? pass->total : done);
}

/* A record that only a read_uncommitted reader sees. */
static void add_aborted(struct gap_pass *pass, struct gap_part *part, const struct record *record)
{
	unsigned columns = CHUNK_ALWAYS | (part->work.topic->numbers ? CHUNK_NUMBER : 0) |
			   (part->work.topic->dlq_header ? CHUNK_SOURCE : 0);

	if (!part->builder)
		part->builder = chunk_builder_new(columns);
	if (part->refused != INT64_MAX)
		return;
	if (chunk_builder_add(part->builder, record, &part->work.part->trouble) < 0) {
		part->refused = record->offset;
		return;
	}
	if (chunk_builder_full(part->builder) ||
	    (record->offset % 256 == 0 && chunk_builder_bytes(part->builder) > pass->part_memory)) {
		push(pass, part, record->offset + 1, NULL);
		chunk_builder_shrink(part->builder);
	}
}

static void take(void *context, const struct reread_window *window, const struct record *record)
{
	struct gap_pass *pass = context;
	struct gap_part *part = &pass->parts[window->index];

	if (in_hole(part, record->offset))
		add_aborted(pass, part, record);
	part->seen = record->offset + 1;
	if (++part->read >= GAP_PROGRESS)
		report(pass, part);
}

/* --- passes ------------------------------------------------------------------------------------------------------ */

static bool wants_look(const struct topic_history *topic, const struct topic_part *part)
{
	return topic->incarnation_id && topic->isolation == ISOLATION_READ_COMMITTED && part->verified &&
	       part->next != UNKNOWN && part->gap < part->next && part->log_start != UNKNOWN && !part->trouble.text[0];
}

static int compacted(sqlite3 *db, int64_t incarnation_id, bool *answer, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int more;

	if (db_prepare(db, sql_queries_incarnation_compacted, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, incarnation_id);
	more = db_step(stmt, t);
	*answer = more > 0 && db_int(stmt, 0) != 0;
	sqlite3_finalize(stmt);
	return more < 0 ? -1 : 0;
}

static size_t count_wanted(const struct topic_history *topics, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		for (int32_t j = 0; j < topics[i].partitions; j++)
			n += wants_look(&topics[i], &topics[i].parts[j]);
	return n;
}

/* Finds the holes of one topic's parts. A damaged chunk is the part's trouble. */
static void walk_topic(sqlite3 *db, struct gap_pass *pass, struct topic_history *topic, const struct gap_limits *limits,
		       size_t share, int64_t *budget)
{
	for (int32_t j = 0; j < topic->partitions; j++) {
		struct gap_part *part = &pass->parts[pass->count];

		if (!wants_look(topic, &topic->parts[j]))
			continue;
		*part = (struct gap_part){ .work = { .topic = topic, .part = &topic->parts[j] },
					   .seen = UNKNOWN,
					   .refused = INT64_MAX };
		if (gap_walk_part(db, &part->work, share, limits->merge, budget, &topic->parts[j].trouble) < 0)
			gap_work_release(&part->work);
		else
			pass->count++;
	}
}

static void add_windows(struct gap_pass *pass)
{
	size_t n = 0;

	for (size_t i = 0; i < pass->count; i++)
		n += pass->parts[i].work.windows.count;
	pass->windows = xarray(n, sizeof(*pass->windows));
	for (size_t i = 0; i < pass->count; i++) {
		const struct gap_work *work = &pass->parts[i].work;

		pass->parts[i].windows_at = pass->window_count;
		for (size_t j = 0; j < work->windows.count; j++) {
			pass->windows[pass->window_count++] = (struct reread_window){
				.topic = work->topic->topic,
				.partition = work->part->partition,
				.numbers = work->topic->numbers,
				.header = work->topic->dlq_header,
				.index = i,
				.start = work->windows.items[j].start,
				.end = work->windows.items[j].end,
				.gone_from = UNKNOWN,
				.gone_to = UNKNOWN,
			};
			pass->total += work->windows.items[j].end - work->windows.items[j].start;
		}
	}
}

/* How far a part's holes were looked at; what was trimmed meanwhile stays unknown. */
static void conclude(struct gap_pass *pass, struct gap_part *part)
{
	struct topic_part *to = part->work.part;
	struct ranges unknown = { 0 };
	int64_t position = part->work.goal;

	for (size_t i = 0; i < part->work.windows.count; i++) {
		const struct reread_window *window = &pass->windows[part->windows_at + i];

		if (window->gone_from != UNKNOWN)
			ranges_add(&unknown, window->gone_from, window->gone_to);
		if (window->covered)
			continue;
		position = part->seen != UNKNOWN && part->seen > window->start ? part->seen : window->start;
		to->trouble = window->trouble;
		break;
	}
	if (position > part->refused)
		position = part->refused;
	for (size_t i = 0; i < part->work.unknown.count && part->work.unknown.items[i].start < position; i++)
		ranges_add(&unknown, part->work.unknown.items[i].start, part->work.unknown.items[i].end);
	push(pass, part, position, &unknown);
	to->gap = position;
}

static void pass_release(struct gap_pass *pass)
{
	for (size_t i = 0; i < pass->count; i++) {
		gap_work_release(&pass->parts[i].work);
		if (pass->parts[i].builder)
			chunk_builder_free(pass->parts[i].builder);
	}
	free(pass->parts);
	free(pass->windows);
	if (pass->encoder)
		chunk_encoder_free(pass->encoder);
	pthread_mutex_destroy(&pass->lock);
}

static int read_windows(struct gap_pass *pass, struct source *source, sqlite3 *db, struct trouble *t)
{
	struct trouble trouble = { 0 };

	pass->encoder = chunk_encoder_new(HISTORY_LEVEL);
	pass->part_memory = (size_t)GAP_MEMORY / (pass->count ? pass->count : 1);
	pass->writer = writer_start(pass->run, db);
	if (pass->window_count > 0 &&
	    source->ops->reread(source, pass->windows, pass->window_count, take, pass, &trouble) < 0)
		for (size_t i = 0; i < pass->window_count; i++)
			pass->windows[i].trouble = trouble;
	for (size_t i = 0; i < pass->count; i++)
		conclude(pass, &pass->parts[i]);
	return writer_stop(pass->writer, t);
}

/* One pass. 1: there were holes, or parts to walk on; 0: nothing was left; -1: the index. */
static int pass_over(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topics,
		     size_t count, const struct gap_limits *limits, int64_t *budgets, struct trouble *t)
{
	size_t wanted = count_wanted(topics, count);
	struct gap_pass pass = { .run = run, .lock = PTHREAD_MUTEX_INITIALIZER };
	size_t share;
	int result;

	if (wanted == 0 || run_stopped(run))
		return 0;
	share = limits->holes / wanted > GAP_HOLES_LEAST ? limits->holes / wanted : GAP_HOLES_LEAST;
	pass.parts = xarray(wanted, sizeof(*pass.parts));
	for (size_t i = 0; i < count; i++)
		walk_topic(db, &pass, &topics[i], limits, share, &budgets[i]);
	add_windows(&pass);
	result = read_windows(&pass, source, db, t);
	pass_release(&pass);
	return result < 0 ? -1 : 1;
}

static int pass_uncommitted(sqlite3 *db, struct topic_history *topics, size_t count, struct trouble *t)
{
	for (size_t i = 0; i < count; i++)
		for (int32_t j = 0; j < topics[i].partitions; j++) {
			struct topic_part *part = &topics[i].parts[j];
			const int64_t values[] = { topics[i].incarnation_id, part->partition, part->next };

			if (topics[i].isolation != ISOLATION_READ_UNCOMMITTED || part->next == UNKNOWN ||
			    part->gap == part->next)
				continue;
			if (statement_ints(db, sql_queries_partition_gap, values, 3, t) < 0)
				return -1;
			part->gap = part->next;
		}
	return 0;
}

int gapwindow_run(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topics, size_t count,
		  const struct gap_limits *limits, struct trouble *t)
{
	int64_t *budgets = xarray(count, sizeof(*budgets));
	int more = 1, result = 0;

	for (size_t i = 0; i < count && result == 0; i++) {
		bool limited = false;

		if (topics[i].incarnation_id)
			result = compacted(db, topics[i].incarnation_id, &limited, t);
		budgets[i] = limited ? limits->compacted : INT64_MAX;
	}
	while (result == 0 && more > 0)
		more = pass_over(run, source, db, topics, count, limits, budgets, t);
	free(budgets);
	if (result < 0 || more < 0)
		return trouble_wrap(t, "second look at the holes");
	return pass_uncommitted(db, topics, count, t);
}

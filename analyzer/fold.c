/* fold: topic by topic; where the sample does not fit the memory, again with half of it. */
#include "analyzer/fold.h"

#include <stdlib.h>

#include "analyzer/fold_state.h"
#include "analyzer/resize.h"
#include "analyzer/script.h"
#include "sql/db.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"
#include "sql_data.h"

enum {
	SEEN_BYTES_LEAST = 1 << 18,
	MEMORY_LEAST = 4 << 20,
	FILTER_BITS_LEAST = 1 << 16,
	FILTER_BITS_MOST = 1 << 26
};

/*
 * What a sample costs beside its entry, once it is folded: a place, a reference to its fence, its bits in the filter.
 */
enum { SAMPLE_COST = sizeof(struct key_place) + sizeof(struct fence_ref) + 4 };

/* Halves the stratum that has more keys, and writes down what the sample is now. */
static int halve(struct fold *f, struct trouble *t)
{
	struct fold_topic *topic = f->topic;
	sqlite3_stmt *stmt;
	int result;

	if (f->recent_keys * 2 > f->loaded_keys)
		topic->recent_threshold /= 2;
	else
		topic->threshold /= 2;
	f->halved = true;
	if (topic->threshold == 0 && topic->recent_threshold == 0)
		return trouble_set(t, "not one sampled key fits in the memory");
	run_note(f->run, "fold %s: the sample does not fit in the memory; looking at half of it", topic->name);
	if (db_prepare(f->db, sql_queries_fold_halve, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, topic->topic_id);
	db_bind_int(stmt, 2, topic->threshold);
	db_bind_int(stmt, 3, topic->recent_threshold);
	result = db_run(stmt, t);
	sqlite3_finalize(stmt);
	return result;
}

static bool keeps_values(const struct fold_topic *topic)
{
	return topic->counts || topic->sums || topic->lasts;
}

static void load_fence(struct fold *f, sqlite3_stmt *row)
{
	const void *bytes = sqlite3_column_blob(row, 2); /* NULL for no bytes */
	struct key key = { sqlite3_column_int64(row, 1), bytes ? bytes : "", (uint32_t)sqlite3_column_bytes(row, 2) };
	int64_t partition = db_int(row, 3), offset = db_int(row, 4);
	uint32_t index = keytable_find(&f->table, &key, NULL);
	struct key_entry *entry = keytable_entry(&f->table, index == NOBODY ? keytable_add(&f->table, &key) : index);

	entry->fence_id = sqlite3_column_int64(row, 0);
	f->loaded_keys++;
	f->recent_keys += sqlite3_column_int(row, 5);
	if (partition < 0 || offset < 0)
		return;
	entry->fence_partition = partition > INT32_MAX ? INT32_MAX : (int32_t)partition;
	entry->fence_offset = offset;
}

static void make_filter(struct fold *f)
{
	f->filter_bits = FILTER_BITS_LEAST;
	while (f->filter_bits < FILTER_BITS_MOST && f->filter_bits < f->table.entries.count * 16)
		f->filter_bits *= 2;
	f->filter = xarray(f->filter_bits / 64, sizeof(*f->filter));
	for (size_t i = 0; i < f->table.entries.count; i++) {
		size_t bit = (size_t)keytable_entry(&f->table, (uint32_t)i)->hash & (f->filter_bits - 1);

		f->filter[bit / 64] |= (uint64_t)1 << (bit % 64);
	}
}

/*
 * Divides the memory: the keys come first, and the distinct keys of a partition have the rest, at least a sixteenth and
 * at most a half; where that is not enough for them, they take more passes.
 */
static void divide_memory(struct fold *f)
{
	size_t need = keytable_bytes(&f->table) + f->table.entries.count * SAMPLE_COST;
	size_t seen = need < f->memory ? f->memory - need : 0;

	if (seen > f->memory / 2)
		seen = f->memory / 2;
	f->too_large = seen < f->memory / 16;
	f->budget = f->memory - seen;
	seen_init(&f->seen, seen > SEEN_BYTES_LEAST ? seen : SEEN_BYTES_LEAST);
}

static int load_fences(struct fold *f, struct trouble *t)
{
	sqlite3_stmt *rows;
	int more;

	if (db_prepare(f->db, sql_queries_fold_fences, &rows, t) < 0)
		return -1;
	db_bind_int(rows, 1, f->topic->topic_id);
	db_bind_int(rows, 2, f->topic->threshold);
	db_bind_int(rows, 3, f->topic->recent_threshold);
	while ((more = FAULT(FOLD_FENCES) ? db_trouble(f->db, t, "read") : db_step(rows, t)) > 0) {
		load_fence(f, rows);
		if (keytable_bytes(&f->table) > f->memory)
			break;
	}
	sqlite3_finalize(rows);
	f->looked_entries = f->table.entries.count;
	divide_memory(f);
	make_filter(f);
	fence_refs_init(&f->refs, &f->table);
	return more < 0 ? -1 : 0;
}

static unsigned columns(const struct fold_topic *topic)
{
	return CHUNK_OFFSET | CHUNK_TIMESTAMP | CHUNK_KEY | CHUNK_FLAGS | (topic->sums ? CHUNK_NUMBER : 0) |
	       (topic->lasts ? CHUNK_VALUE_HASH : 0);
}

static void begin(struct fold *f)
{
	size_t cells = f->topic->count[0] > 0 ? (size_t)f->topic->count[0] * LEGAL_COUNT : 0;

	keytable_init(&f->table, keeps_values(f->topic));
	f->steps.item = sizeof(struct rebase_step);
	f->placement = (struct placement){ xarray(cells + 1, sizeof(int64_t)), xarray(cells + 1, sizeof(int64_t)), cells };
	f->first_place = xarray(f->topic->part_n + 1, sizeof(*f->first_place));
	f->place = xarray(CHUNK_RECORDS_MAX, sizeof(*f->place));
	f->some = xarray(CHUNK_RECORDS_MAX, sizeof(*f->some));
	ahead_init(&f->ahead, &f->placement);
	f->feed = feed_new(f->db, columns(f->topic), f->topic, cells);
	f->scan = chunk_scan_new(f->db, columns(f->topic));
	chunk_scan_cut(f->scan, f->topic->key_part);
}

static void end(struct fold *f)
{
	feed_free(f->feed);
	chunk_scan_free(f->scan);
	free(f->place);
	free(f->some);
	free(f->first_place);
	free(f->filter);
	free(f->placement.records);
	free(f->placement.keys);
	fence_refs_release(&f->refs);
	ahead_release(&f->ahead);
	seen_release(&f->seen);
	keytable_release(&f->table);
	pool_release(&f->steps);
}

static int stream_partitions(struct fold *f, struct trouble *t)
{
	for (size_t i = 0; i < f->topic->part_n; i++) {
		f->part = &f->topic->parts[i];
		f->first_place[i] = f->table.places.count;
		if (fold_stream(f, t) < 0)
			return -1;
		if (f->too_large)
			return 0;
		if (fold_placement(f, t) < 0 || fold_hot(f, t) < 0 || fold_write_partition(f, t) < 0)
			return trouble_wrap(t, "partition %d", f->part->partition);
		f->null_keys += f->ahead.count.null_keys;
		f->keyed += f->ahead.count.keyed;
	}
	f->first_place[f->topic->part_n] = f->table.places.count;
	return 0;
}

static int finish(struct fold *f, struct trouble *t)
{
	if (f->halved && f->table.entries.count == 0)
		return trouble_set(t, "not one sampled key fits in the memory");
	if (fence_at_rest(f, t) < 0 || fence_elsewhere(f, t) < 0 || rebase_count(f, t) < 0)
		return -1;
	return fold_write_topic(f, t) < 0 ? -1 : resize_write(f, t);
}

static int fold_once(struct fold *f, struct trouble *t)
{
	int result;

	begin(f);
	result = load_fences(f, t);
	if (result == 0 && !f->too_large)
		result = stream_partitions(f, t);
	if (result == 0 && !f->too_large)
		result = finish(f, t);
	end(f);
	return result < 0 || !f->too_large ? result : halve(f, t);
}

static int records_of(sqlite3 *db, const struct fold_topic *topic, int64_t *records, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int more;

	*records = UNKNOWN;
	if (db_prepare(db, sql_queries_fold_records, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, topic->topic_id);
	more = db_step(stmt, t);
	if (more > 0)
		*records = db_int(stmt, 0);
	sqlite3_finalize(stmt);
	return more < 0 ? -1 : 0;
}

/* Until the sample fits. */
static int fold_fitting(const struct run *run, sqlite3 *db, struct fold_topic *topic, const struct rejected *rejected,
			struct trouble *t)
{
	size_t listed = rejected->count * sizeof(*rejected->at);
	bool halved = false;
	int64_t total;

	if (records_of(db, topic, &total, t) < 0)
		return -1;
	for (;;) {
		struct fold f = { .run = run, .db = db, .topic = topic, .rejected = *rejected, .total = total,
				  .memory = run->memory > listed + MEMORY_LEAST ? run->memory - listed : MEMORY_LEAST,
				  .halved = halved };

		if (fold_once(&f, t) < 0)
			return -1;
		if (!f.too_large)
			return f.halved ? script_run(db, sql_queries_fold_recount, topic->topic_id, t) : 0;
		if (script_run(db, sql_queries_fold_clear_topic, topic->topic_id, t) < 0)
			return -1;
		halved |= f.halved;
	}
}

static int fold_topic(const struct run *run, sqlite3 *db, struct fold_topic *topic, struct trouble *t)
{
	struct rejected rejected = { 0 };
	struct rejected_from from = { topic->pipeline_id, topic->name };
	int result = topic->rejects_dlq ? rejected_load(run, db, &from, &rejected, t) : 0;

	if (result == 0)
		result = resize_find(run, db, topic, t);
	/* A DLQ that is known to its last record leaves no doubt where a resized worker sent what. */
	for (size_t i = 0; topic->rejects_dlq && !rejected.incomplete && i < topic->part_n; i++)
		for (size_t j = 0; j < topic->count_n; j++)
			topic->parts[i].certain[j] = INT64_MAX;
	if (result == 0)
		result = fold_fitting(run, db, topic, &rejected, t);
	rejected_release(&rejected);
	return result < 0 ? trouble_wrap(t, "fold %s", topic->name) : 0;
}

/* Whether the fold holds topics of other pipelines too, which stay. */
static int has_others(const struct run *run, sqlite3 *db, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int more;

	if (db_prepare(db, sql_queries_fold_others, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, run->id);
	more = db_step(stmt, t);
	if (more > 0)
		more = sqlite3_column_int64(stmt, 0) > 0;
	sqlite3_finalize(stmt);
	return more;
}

/* The list is read to its end first: the rows it comes from are among those that go. */
static int clear_pipelines(const struct run *run, sqlite3 *db, struct trouble *t)
{
	sqlite3_stmt *rows;
	int64_t *topics = NULL;
	size_t n = 0;
	int more;

	if (db_prepare(db, sql_queries_fold_replaced, &rows, t) < 0)
		return -1;
	db_bind_int(rows, 1, run->id);
	while ((more = db_step(rows, t)) > 0) {
		topics = xgrow(topics, n + 1, sizeof(*topics));
		topics[n++] = sqlite3_column_int64(rows, 0);
	}
	sqlite3_finalize(rows);
	for (size_t i = 0; i < n && more == 0; i++)
		more = script_run(db, sql_queries_fold_clear_topic, topics[i], t);
	free(topics);
	return more;
}

static int clear_earlier(const struct run *run, sqlite3 *db, struct trouble *t)
{
	int others = has_others(run, db, t);
	int result = others < 0 ? -1
		     : others   ? clear_pipelines(run, db, t)
				: script_run(db, sql_queries_fold_clear_all, run->id, t);

	return result < 0 ? -1 : script_run(db, sql_queries_fold_clear_run, run->id, t);
}

int fold_run(const struct run *run, sqlite3 *db, struct trouble *t)
{
	struct fold_topics topics;
	int result = clear_earlier(run, db, t);

	if (result < 0)
		return trouble_wrap(t, "clear the last fold");
	result = fold_topics_load(run, db, &topics, t);
	for (size_t i = 0; result == 0 && i < topics.n; i++)
		result = fold_topic(run, db, &topics.items[i], t);
	fold_topics_release(&topics);
	return result;
}

/* fold_write: the fold's tables, each in the order of its primary key. */
#include "analyzer/fold_state.h"

#include <stdlib.h>

#include "sql/db.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"
#include "sql/partitioner.h"
#include "sql/verdict.h"
#include "sql_data.h"

#define X(name, word) [AT_##name] = word,
static const char *const at_fence_words[] = { AT_FENCE(X) };
#undef X

int fold_writer_open(struct fold *f, struct trouble *t)
{
	struct fold_writer *w = &f->writer;

	if (db_prepare(f->db, sql_queries_fold_key_state, &w->key_state, t) < 0 ||
	    db_prepare(f->db, sql_queries_fold_fence_state, &w->fence_state, t) < 0 ||
	    db_prepare(f->db, sql_queries_fold_partition_state, &w->partition_state, t) < 0 ||
	    db_prepare(f->db, sql_queries_fold_placement, &w->placement, t) < 0 ||
	    db_prepare(f->db, sql_queries_fold_off_home_key, &w->off_home, t) < 0)
		return -1;
	return 0;
}

void fold_writer_close(struct fold *f)
{
	sqlite3_finalize(f->writer.key_state);
	sqlite3_finalize(f->writer.fence_state);
	sqlite3_finalize(f->writer.partition_state);
	sqlite3_finalize(f->writer.placement);
	sqlite3_finalize(f->writer.off_home);
	f->writer = (struct fold_writer){ 0 };
}

/* Binds values to the columns of one row, from the left. */
struct row {
	sqlite3_stmt *stmt;
	int column;
};

static struct row row_of(sqlite3_stmt *stmt)
{
	return (struct row){ .stmt = stmt, .column = 0 };
}

static void add_int(struct row *row, int64_t value)
{
	db_bind_int(row->stmt, ++row->column, value);
}

/* -1 stands for none where only offsets and partitions can be. */
static void add_offset(struct row *row, int64_t value)
{
	db_bind_int(row->stmt, ++row->column, value < 0 ? UNKNOWN : value);
}

static void add_blob(struct row *row, const void *bytes, size_t size)
{
	db_bind_blob(row->stmt, ++row->column, bytes, size);
}

static void add_text(struct row *row, const char *text)
{
	db_bind_text(row->stmt, ++row->column, text);
}

/* An index in the order of hash and bytes. */
struct sorted {
	int64_t hash;
	uint32_t index, key_size;
	const uint8_t *key;
};

static int by_key(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	return key_compare(x->hash, x->key, x->key_size, y->hash, y->key, y->key_size);
}

static int write_key_state(struct fold *f, const struct key_place *place, struct trouble *t)
{
	struct row row = row_of(f->writer.key_state);

	add_int(&row, f->topic->topic_id);
	add_int(&row, place->partition);
	add_int(&row, keytable_entry(&f->table, place->entry)->hash);
	add_blob(&row, place->key, place->key_size);
	add_int(&row, legal_of(place->legal));
	add_int(&row, place->records);
	add_int(&row, place->first_offset);
	add_int(&row, place->last_offset);
	add_int(&row, place->first_ms);
	add_int(&row, place->last_ms);
	return FAULT(FOLD_KEY) ? db_trouble(f->db, t, "write") : db_run(row.stmt, t);
}

static int write_key_states(struct fold *f, struct trouble *t)
{
	size_t n = f->table.places.count - f->first_place, count = 0;
	struct sorted *sorted = xarray(n, sizeof(*sorted));
	int result = 0;

	for (size_t i = 0; i < n; i++) {
		const struct key_place *place = keytable_place(&f->table, (uint32_t)(f->first_place + i));

		if (place->entry != NOBODY)
			sorted[count++] = (struct sorted){ keytable_entry(&f->table, place->entry)->hash, (uint32_t)(f->first_place + i),
							   place->key_size, place->key };
	}
	qsort(sorted, count, sizeof(*sorted), by_key);
	for (size_t i = 0; i < count && result == 0; i++)
		result = write_key_state(f, keytable_place(&f->table, sorted[i].index), t);
	free(sorted);
	return result;
}

static int write_placement(struct fold *f, struct trouble *t)
{
	for (size_t i = 0; i < f->placement.cells; i++) {
		struct row row = row_of(f->writer.placement);

		if (!f->placement.records[i])
			continue;
		add_int(&row, f->topic->topic_id);
		add_int(&row, f->part->partition);
		add_int(&row, (int64_t)(i / LEGAL_COUNT));
		add_int(&row, (int64_t)(i % LEGAL_COUNT));
		add_int(&row, f->placement.records[i]);
		add_int(&row, f->placement.keys[i]);
		if (db_run(row.stmt, t) < 0)
			return -1;
	}
	return 0;
}

static int write_partition_state(struct fold *f, struct trouble *t)
{
	const struct fold_partition *part = f->part;
	const struct partition_count *count = &f->count;
	struct row row = row_of(f->writer.partition_state);
	bool indexed = part->first_offset != UNKNOWN && part->indexed_end != UNKNOWN;
	bool expired = count->expired > 0;

	add_int(&row, f->topic->topic_id);
	add_int(&row, part->partition);
	add_int(&row, part->first_offset);
	add_int(&row, count->records);
	add_int(&row, part->aborted);
	add_int(&row, indexed ? part->indexed_end - part->first_offset - count->records - part->aborted : 0);
	add_int(&row, count->hole_end);
	add_int(&row, indexed && part->first_offset == 0 && count->hole_end == 0);
	add_int(&row, indexed && part->first_offset <= part->from && part->from_sure && count->hole_end <= part->from);
	add_int(&row, count->waiting_ms);
	add_int(&row, count->expired);
	add_int(&row, expired ? count->expired_first : UNKNOWN);
	add_int(&row, expired ? count->expired_last : UNKNOWN);
	add_int(&row, expired ? count->expired_first_ms : UNKNOWN);
	add_int(&row, expired ? count->expired_last_ms : UNKNOWN);
	return db_run(row.stmt, t);
}

int fold_write_partition(struct fold *f, struct trouble *t)
{
	if (write_key_states(f, t) < 0 || write_placement(f, t) < 0)
		return -1;
	return write_partition_state(f, t);
}

/* What the places of one key say together. */
struct whole {
	int64_t records, legal, newest_ms, older_tombstone;
	const struct key_place *home, *older;
};

/* The older place that decides: with binding records, of the latest count. */
static bool decides(const struct key_place *place, const struct key_place *before)
{
	if (place->legal <= 0 || (place->binding_offset < 0 && place->unsure_offset < 0))
		return false;
	return !before || place->legal < before->legal;
}

static struct whole whole_of(const struct fold *f, const struct key_entry *entry)
{
	struct whole whole = { .newest_ms = UNKNOWN, .older_tombstone = -1 };

	for (uint32_t i = entry->places; i != NOBODY;) {
		const struct key_place *place = keytable_place(&f->table, i);

		whole.records += place->records;
		if (place->legal >= 0) {
			whole.legal++;
			if (place->last_ms > whole.newest_ms)
				whole.newest_ms = place->last_ms;
		}
		if (place->legal == 0)
			whole.home = place;
		if (decides(place, whole.older))
			whole.older = place;
		if (place->legal > 0 && place->tombstone_any > whole.older_tombstone)
			whole.older_tombstone = place->tombstone_any;
		i = place->next;
	}
	if (whole.older)
		whole.older_tombstone = whole.older->tombstone_any;
	return whole;
}

/* See fence_state.unproven. -1: none. */
static int64_t unproven(const struct fold *f, const struct key_entry *entry, uint32_t positive)
{
	for (size_t i = 0; i < f->topic->count_n; i++) {
		int32_t count = f->topic->count[i];
		int32_t partition = count > 0 ? (int32_t)(positive % (uint32_t)count) : -1;
		const struct fold_partition *part = fold_topic_part(f->topic, partition);

		if (partition < 0)
			continue;
		if (!part || !part->covered)
			return partition;
		if (!part->has_horizon && keytable_place_in(&f->table, entry, partition))
			return partition;
	}
	return -1;
}

static void add_fence(struct row *row, const struct fold *f, const struct key_entry *entry, uint32_t positive)
{
	bool fence = entry->fence_partition >= 0;
	bool met = entry->fence_ms != UNKNOWN;

	add_int(row, fence && f->topic->count[0] > 0 ? (int64_t)legal_of(fold_ordinal(f->topic, positive, entry->fence_partition)) : UNKNOWN);
	add_text(row, at_fence_words[entry->at_fence]);
	add_int(row, entry->fence_ms);
	add_int(row, met ? entry->fence_tombstone : UNKNOWN);
}

static void add_lost(struct row *row, const struct key_place *place)
{
	bool some = place && place->lost > 0;

	add_int(row, some ? place->lost : 0);
	add_int(row, some ? place->lost_offset : UNKNOWN);
	add_int(row, some ? place->lost_ms : UNKNOWN);
}

static void add_home(struct row *row, const struct key_place *home)
{
	bool binding = home && home->binding_offset >= 0;

	add_int(row, home ? home->records : 0);
	add_int(row, binding ? home->binding_offset : UNKNOWN);
	add_int(row, binding ? home->binding_ms : UNKNOWN);
	add_lost(row, home);
	add_offset(row, home ? home->tombstone : -1);
	add_offset(row, home ? home->tombstone_any : -1);
}

static void add_older(struct row *row, const struct whole *whole)
{
	const struct key_place *older = whole->older;
	bool binding = older && older->binding_offset >= 0;

	add_int(row, older ? older->partition : UNKNOWN);
	add_int(row, binding ? older->binding_offset : UNKNOWN);
	add_int(row, binding ? older->binding_ms : UNKNOWN);
	add_offset(row, older ? older->unsure_offset : -1);
	add_lost(row, older);
	add_offset(row, whole->older_tombstone);
}

static void add_value(struct row *row, const struct fold *f, uint32_t index)
{
	const struct key_entry *entry = keytable_entry(&f->table, index);
	const struct key_value *value = f->table.values.item ? keytable_value(&f->table, index) : NULL;
	bool counts = value && (f->topic->counts || f->topic->sums);

	add_int(row, counts ? value->applied : UNKNOWN);
	add_int(row, counts && f->topic->sums && !entry->no_number ? value->sum : UNKNOWN);
	add_int(row, value && f->topic->lasts && entry->fence_ms != UNKNOWN ? (int64_t)value->value_hash : UNKNOWN);
}

static int write_fence_state(struct fold *f, uint32_t index, struct trouble *t)
{
	const struct key_entry *entry = keytable_entry(&f->table, index);
	struct whole whole = whole_of(f, entry);
	uint32_t positive = murmur2(entry->key, entry->key_size) & 0x7fffffff;
	struct row row = row_of(f->writer.fence_state);

	add_int(&row, f->topic->topic_id);
	add_int(&row, entry->hash);
	add_blob(&row, entry->key, entry->key_size);
	add_int(&row, entry->fence_id);
	add_int(&row, f->topic->count[0] > 0 ? (int64_t)(positive % (uint32_t)f->topic->count[0]) : UNKNOWN);
	add_int(&row, whole.records);
	add_int(&row, whole.legal);
	add_int(&row, entry->rebases);
	add_int(&row, whole.newest_ms);
	add_offset(&row, unproven(f, entry, positive));
	add_int(&row, entry->elsewhere);
	add_fence(&row, f, entry, positive);
	add_home(&row, whole.home);
	add_older(&row, &whole);
	add_value(&row, f, index);
	return FAULT(FOLD_FENCE) ? db_trouble(f->db, t, "write") : db_run(row.stmt, t);
}

static int write_fence_states(struct fold *f, struct trouble *t)
{
	size_t n = f->table.entries.count;
	struct sorted *sorted = xarray(n, sizeof(*sorted));
	int result = 0;

	for (size_t i = 0; i < n; i++) {
		const struct key_entry *entry = keytable_entry(&f->table, (uint32_t)i);

		sorted[i] = (struct sorted){ entry->hash, (uint32_t)i, entry->key_size, entry->key };
	}
	qsort(sorted, n, sizeof(*sorted), by_key);
	for (size_t i = 0; i < n && result == 0; i++)
		result = write_fence_state(f, sorted[i].index, t);
	free(sorted);
	return result;
}

static int write_off_home(struct fold *f, struct trouble *t)
{
	offhome_finish(&f->offhome);
	for (size_t i = 0; i < f->offhome.count; i++) {
		const struct offhome_key *key = &f->offhome.keys[i];
		struct row row = row_of(f->writer.off_home);

		add_int(&row, f->topic->topic_id);
		add_int(&row, key->partition);
		add_int(&row, key->hash);
		add_blob(&row, key->key, key->key_size);
		add_int(&row, key->home);
		add_int(&row, key->records);
		add_int(&row, key->first_offset);
		add_int(&row, key->last_offset);
		add_int(&row, key->first_ms);
		add_int(&row, key->last_ms);
		if (db_run(row.stmt, t) < 0)
			return -1;
	}
	return 0;
}

static int write_counts(struct fold *f, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int result = 0;

	if (db_prepare(f->db, sql_queries_fold_topic_count, &stmt, t) < 0)
		return -1;
	for (size_t i = 0; i < f->topic->count_n && result == 0; i++) {
		if (f->topic->count[i] <= 0)
			continue;
		db_bind_int(stmt, 1, f->topic->topic_id);
		db_bind_int(stmt, 2, (int64_t)i);
		db_bind_int(stmt, 3, f->topic->count[i]);
		result = db_run(stmt, t);
	}
	sqlite3_finalize(stmt);
	return result;
}

static int write_topic_state(struct fold *f, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int result;

	if (db_prepare(f->db, sql_queries_fold_topic_state, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, f->topic->topic_id);
	db_bind_int(stmt, 2, f->topic->threshold);
	db_bind_int(stmt, 3, f->null_keys);
	db_bind_text(stmt, 4, f->topic->rejects_dlq ? f->rejected.incomplete : NULL);
	result = db_run(stmt, t);
	sqlite3_finalize(stmt);
	return result;
}

static int write_verdicts(struct fold *f, struct trouble *t)
{
	int64_t rebases = 0;
	sqlite3_stmt *stmt;
	int result = 0;

	for (size_t i = 0; i < f->table.entries.count; i++)
		rebases += keytable_entry(&f->table, (uint32_t)i)->rebases;
	if (db_prepare(f->db, sql_queries_fold_verdicts, &stmt, t) < 0)
		return -1;
	for (int i = 0; i < 3 && result == 0; i++) {
		static const enum verdict verdicts[] = { VERDICT_APPLY, VERDICT_REBASE, VERDICT_DLQ };
		const int64_t records[] = { f->accepted - rebases, rebases, f->refused };

		db_bind_int(stmt, 1, f->topic->run_id);
		db_bind_text(stmt, 2, f->topic->pipeline);
		db_bind_text(stmt, 3, verdict_name(verdicts[i]));
		db_bind_int(stmt, 4, records[i]);
		result = db_run(stmt, t);
	}
	sqlite3_finalize(stmt);
	return result;
}

int fold_write_topic(struct fold *f, struct trouble *t)
{
	if (f->topic->fenced && (write_fence_states(f, t) < 0 || write_verdicts(f, t) < 0))
		return -1;
	if (write_off_home(f, t) < 0 || write_counts(f, t) < 0)
		return -1;
	return write_topic_state(f, t);
}

/* fold_write: the fold's tables, each in the order of its primary key. */
#include "analyzer/fold_state.h"

#include <stdlib.h>

#include "analyzer/bulk.h"
#include "sql/db.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"
#include "sql/verdict.h"
#include "sql_data.h"

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

/* The rows of one table: what to write in which order. */
struct rows {
	struct fold *f;
	struct sorted *sorted;
};

static void fill_key_state(void *context, size_t index, struct bulk_row *row)
{
	const struct rows *rows = context;
	const struct key_place *place = keytable_place(&rows->f->table, rows->sorted[index].index);

	bulk_int(row, rows->f->topic->topic_id);
	bulk_int(row, place->partition);
	bulk_int(row, rows->sorted[index].hash);
	bulk_blob(row, place->key, place->key_size);
	bulk_int(row, legal_of(place->legal));
	bulk_int(row, place->records);
	bulk_int(row, place->first_offset);
	bulk_int(row, place->last_offset);
	bulk_int(row, place->first_ms);
	bulk_int(row, place->last_ms);
}

/* The places of one partition, in the order of the primary key. */
static int write_key_states(struct fold *f, size_t from, size_t to, struct trouble *t)
{
	struct rows rows = { f, xarray(to - from, sizeof(*rows.sorted)) };
	struct bulk_source source = { .fill = fill_key_state, .context = &rows };
	int result;

	for (size_t i = from; i < to; i++) {
		const struct key_place *place = keytable_place(&f->table, (uint32_t)i);
		const struct key_entry *entry = place->entry == NOBODY ? NULL : keytable_entry(&f->table, place->entry);

		if (entry && !fold_is_at_home(f, entry))
			rows.sorted[source.rows++] =
				(struct sorted){ entry->hash, (uint32_t)i, place->key_size, place->key };
	}
	qsort(rows.sorted, source.rows, sizeof(*rows.sorted), by_key);
	result = source.rows ? bulk_insert(f->db, sql_queries_fold_key_state, &source, t) : 0;
	free(rows.sorted);
	return result;
}

static void fill_placement(void *context, size_t index, struct bulk_row *row)
{
	const struct rows *rows = context;
	const struct fold *f = rows->f;
	size_t cell = rows->sorted[index].index;

	bulk_int(row, f->topic->topic_id);
	bulk_int(row, f->part->partition);
	bulk_int(row, (int64_t)(cell / LEGAL_COUNT));
	bulk_int(row, (int64_t)(cell % LEGAL_COUNT));
	bulk_int(row, f->placement.records[cell]);
	bulk_int(row, f->placement.keys[cell]);
}

static int write_placement(struct fold *f, struct trouble *t)
{
	struct rows rows = { f, xarray(f->placement.cells, sizeof(*rows.sorted)) };
	struct bulk_source source = { .fill = fill_placement, .context = &rows };
	int result;

	for (size_t i = 0; i < f->placement.cells; i++)
		if (f->placement.records[i])
			rows.sorted[source.rows++].index = (uint32_t)i;
	result = bulk_insert(f->db, sql_queries_fold_placement, &source, t);
	free(rows.sorted);
	return result;
}

static void fill_partition_state(void *context, size_t index, struct bulk_row *row)
{
	const struct fold *f = context;
	const struct fold_partition *part = f->part;
	const struct partition_count *count = &f->count;
	const struct ahead_count *ahead = &f->ahead.count;
	bool indexed = part->first_offset != UNKNOWN && part->indexed_end != UNKNOWN;
	bool expired = count->expired > 0;

	(void)index;
	bulk_int(row, f->topic->topic_id);
	bulk_int(row, part->partition);
	bulk_int(row, part->first_offset);
	bulk_int(row, count->records);
	bulk_int(row, part->aborted);
	bulk_int(row, indexed ? part->indexed_end - part->first_offset - count->records - part->aborted : 0);
	bulk_int(row, count->hole_end);
	bulk_int(row, indexed && part->first_offset == 0 && count->hole_end == 0);
	bulk_int(row, indexed && part->first_offset <= part->from && part->from_sure && count->hole_end <= part->from);
	bulk_int(row, count->waiting_ms);
	bulk_int(row, count->expired);
	bulk_int(row, expired ? count->expired_first : UNKNOWN);
	bulk_int(row, expired ? count->expired_last : UNKNOWN);
	bulk_int(row, expired ? count->expired_first_ms : UNKNOWN);
	bulk_int(row, expired ? count->expired_last_ms : UNKNOWN);
	bulk_int(row, ahead->homeless);
	bulk_int(row, ahead->off_home);
	bulk_int(row, ahead->off_home ? ahead->off_home_first : UNKNOWN);
	bulk_int(row, ahead->off_home ? ahead->off_home_first_ms : UNKNOWN);
	bulk_int(row, ahead->off_home ? ahead->off_home_last : UNKNOWN);
	bulk_int(row, ahead->off_home ? ahead->off_home_last_ms : UNKNOWN);
	bulk_int(row, ahead->off_home ? ahead->homed_last - ahead->homed_first - (ahead->off_home - 1) : 0);
}

static bool is_hot(const struct fold *f, const struct hot_key *key)
{
	return key->key && key->records * 1000 >= f->topic->hot_share * f->count.records;
}

static void fill_hot(void *context, size_t index, struct bulk_row *row)
{
	const struct rows *rows = context;
	const struct hot_key *key = &rows->f->ahead.hot.keys[rows->sorted[index].index];

	bulk_int(row, rows->f->topic->topic_id);
	bulk_int(row, rows->f->part->partition);
	bulk_int(row, key->hash);
	bulk_blob(row, key->key, key->key_size);
	bulk_int(row, key->records);
}

static int write_hot(struct fold *f, struct trouble *t)
{
	struct rows rows = { f, xarray(HOT_KEYS, sizeof(*rows.sorted)) };
	struct bulk_source source = { .fill = fill_hot, .context = &rows };
	int result;

	for (size_t i = 0; i < f->ahead.hot.count; i++)
		if (is_hot(f, &f->ahead.hot.keys[i]))
			rows.sorted[source.rows++].index = (uint32_t)i;
	result = source.rows ? bulk_insert(f->db, sql_queries_fold_hot_key, &source, t) : 0;
	free(rows.sorted);
	return result;
}

int fold_write_partition(struct fold *f, struct trouble *t)
{
	struct bulk_source state = { 1, fill_partition_state, f };

	if (write_placement(f, t) < 0 || write_hot(f, t) < 0)
		return -1;
	return bulk_insert(f->db, sql_queries_fold_partition_state, &state, t);
}

static void fill_off_home(void *context, size_t index, struct bulk_row *row)
{
	const struct fold *f = context;
	const struct offhome_key *key = &f->ahead.offhome.keys[index];

	bulk_int(row, f->topic->topic_id);
	bulk_int(row, key->partition);
	bulk_int(row, key->hash);
	bulk_blob(row, key->key, key->key_size);
	bulk_int(row, key->home);
	bulk_int(row, key->records);
	bulk_int(row, key->first_offset);
	bulk_int(row, key->last_offset);
	bulk_int(row, key->first_ms);
	bulk_int(row, key->last_ms);
	bulk_int(row, key->stale);
}

static int write_off_home(struct fold *f, struct trouble *t)
{
	struct bulk_source source = { .fill = fill_off_home, .context = f };

	offhome_finish(&f->ahead.offhome);
	source.rows = f->ahead.offhome.count;
	return bulk_insert(f->db, sql_queries_fold_off_home_key, &source, t);
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
	struct taken all = { 0 };
	int64_t rebases = 0;
	sqlite3_stmt *stmt;
	int result = 0;

	for (size_t i = 0; i < sizeof(f->taken) / sizeof(*f->taken); i++) {
		all.accepted += f->taken[i].accepted;
		all.refused += f->taken[i].refused;
		all.ignored += f->taken[i].ignored;
	}
	for (size_t i = 0; i < f->table.entries.count; i++)
		rebases += keytable_entry(&f->table, (uint32_t)i)->rebases;
	if (db_prepare(f->db, sql_queries_fold_verdicts, &stmt, t) < 0)
		return -1;
	const struct {
		const char *verdict;
		int64_t records;
	} counts[] = {
		{ verdict_name(VERDICT_APPLY), all.accepted - rebases },
		{ verdict_name(VERDICT_REBASE), rebases },
		{ verdict_name(VERDICT_DLQ), all.refused },
		{ "ignored", all.ignored },
		{ "unsampled", f->keyed - all.accepted - all.refused - all.ignored },
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts) && result == 0; i++) {
		db_bind_int(stmt, 1, f->topic->run_id);
		db_bind_text(stmt, 2, f->topic->pipeline);
		db_bind_text(stmt, 3, counts[i].verdict);
		db_bind_int(stmt, 4, counts[i].records);
		result = db_run(stmt, t);
	}
	sqlite3_finalize(stmt);
	return result;
}

int fold_write_topic(struct fold *f, struct trouble *t)
{
	for (size_t i = 0; i < f->topic->part_n; i++)
		if (write_key_states(f, f->first_place[i], f->first_place[i + 1], t) < 0)
			return -1;
	if (f->topic->fenced && fold_write_states(f, t) < 0)
		return -1;
	if (f->topic->source && write_verdicts(f, t) < 0)
		return -1;
	if (write_off_home(f, t) < 0 || write_counts(f, t) < 0)
		return -1;
	return write_topic_state(f, t);
}

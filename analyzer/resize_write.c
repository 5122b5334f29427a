/* resize_write: what a change of the partition count did to the keys. */
#include "analyzer/resize.h"

#include <stdlib.h>

#include "analyzer/fold_state.h"
#include "sql/db.h"
#include "sql/mem.h"
#include "sql_data.h"

/* What is counted for one resize. */
struct effect {
	int64_t keys, kept, rebased, to_rebase, waiting, stale_keys, stale_records;
};

static int32_t home_under(uint32_t dividend, int32_t count)
{
	return (int32_t)(dividend % (uint32_t)count);
}

static int64_t common_divisor(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Whether the key has records at its home under the count that the resize led to, or a later one. */
static bool has_moved(const struct fold *f, const struct key_entry *entry, uint32_t dividend, size_t index)
{
	const struct fold_resize *resize = &f->topic->resizes[index];
	int32_t old = home_under(dividend, resize->from);

	for (size_t i = 0; i <= index; i++) {
		int32_t home = home_under(dividend, f->topic->resizes[i].to);

		if (home != old && keytable_place_in(&f->table, entry, home))
			return true;
	}
	return false;
}

static void count_key(const struct fold *f, const struct key_entry *entry, uint32_t dividend, size_t index,
		      struct effect *effect)
{
	const struct fold_resize *resize = &f->topic->resizes[index];
	int32_t old = home_under(dividend, resize->from), now = home_under(dividend, f->topic->count[0]);
	const struct key_place *place = keytable_place_in(&f->table, entry, old);
	bool moves = old != home_under(dividend, resize->to);

	if (moves && old != now && entry->fence_partition == old)
		effect->waiting++;
	if (!place || (resize->begin_ms != UNKNOWN && place->first_ms >= resize->begin_ms))
		return;
	effect->keys++;
	if (!moves)
		effect->kept++;
	else if (has_moved(f, entry, dividend, index))
		effect->rebased++;
	else if (old != now)
		effect->to_rebase++;
}

/* Keys of the recent stratum alone are no fair share of all keys. */
static bool is_fair(const struct fold *f, const struct key_entry *entry)
{
	return f->topic->threshold == 0 || entry->hash < f->topic->threshold;
}

static void count_keys(const struct fold *f, struct effect *effects)
{
	for (size_t i = 0; i < f->table.entries.count; i++) {
		const struct key_entry *entry = keytable_entry(&f->table, (uint32_t)i);
		uint32_t dividend;

		if (!is_fair(f, entry) || !placer_dividend(&f->topic->placer, entry->key, entry->key_size, &dividend))
			continue;
		for (size_t j = 0; j < f->topic->resize_n; j++)
			count_key(f, entry, dividend, j, &effects[j]);
	}
}

/* A stale record is the fault of the latest count that explains it. */
static void count_stale(const struct fold *f, struct effect *effects)
{
	for (size_t i = 0; i < f->ahead.offhome.count; i++) {
		const struct offhome_key *key = &f->ahead.offhome.keys[i];
		uint32_t dividend;
		size_t j = 0;

		if (!key->stale || !placer_dividend(&f->topic->placer, key->key, key->key_size, &dividend))
			continue;
		while (j < f->topic->resize_n && home_under(dividend, f->topic->resizes[j].from) != key->partition)
			j++;
		if (j == f->topic->resize_n)
			continue;
		effects[j].stale_keys++;
		effects[j].stale_records += key->records;
	}
}

static const char *source_word(enum resize_source source)
{
#define WORD(name, word) word,
	static const char *const words[] = { RESIZE_SOURCES(WORD) };
#undef WORD

	return words[source];
}

static int add_row(const struct fold *f, sqlite3_stmt *stmt, size_t index, const struct effect *effect,
		   struct trouble *t)
{
	const struct fold_resize *resize = &f->topic->resizes[index];
	int64_t divisor = common_divisor(resize->from, resize->to);
	bool inferred = resize->source == RESIZE_HISTORY;
	const int64_t counted[] = {
		effect->keys, effect->kept, divisor, resize->to, effect->rebased, effect->to_rebase, effect->waiting,
		effect->stale_keys, effect->stale_records, inferred ? resize->proof_keys : UNKNOWN,
		inferred ? resize->proof_from : UNKNOWN, inferred ? resize->proof_alone : UNKNOWN,
	};

	db_bind_int(stmt, 1, f->topic->topic_id);
	db_bind_int(stmt, 2, resize->from);
	db_bind_int(stmt, 3, resize->to);
	db_bind_text(stmt, 4, source_word(resize->source));
	db_bind_int(stmt, 5, resize->begin_ms);
	db_bind_int(stmt, 6, resize->begin_offset);
	db_bind_int(stmt, 7, resize->begin_partition < 0 ? UNKNOWN : resize->begin_partition);
	db_bind_int(stmt, 8, resize->begin_late);
	db_bind_int(stmt, 9, resize->end_ms);
	for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++)
		db_bind_int(stmt, 10 + (int)i, counted[i]);
	return db_run(stmt, t);
}

int resize_write(const struct fold *f, struct trouble *t)
{
	struct effect *effects;
	sqlite3_stmt *stmt;
	int result = 0;

	if (!f->topic->resize_n)
		return 0;
	if (db_prepare(f->db, sql_queries_resize_add, &stmt, t) < 0)
		return -1;
	effects = xarray(f->topic->resize_n, sizeof(*effects));
	count_keys(f, effects);
	count_stale(f, effects);
	for (size_t i = 0; i < f->topic->resize_n && result == 0; i++)
		result = add_row(f, stmt, i, &effects[i], t);
	sqlite3_finalize(stmt);
	free(effects);
	return result;
}

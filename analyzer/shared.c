/*
 * shared: a pass over the keys finds the prefixes. Where there are several, the texts of the sampled keys go into a
 * table (open addressing, at most two thirds full), and a second pass marks those that come with another prefix. Of a
 * text 128 bits are kept, of a prefix 64: two would have to agree in all of them to be taken for one.
 */
#define XXH_INLINE_ALL
#include "analyzer/shared.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "sql/chunk_scan.h"
#include "sql/db.h"
#include "sql/keyprefix.h"
#include "sql/mem.h"
#include "sql_data.h"

struct slot {
	XXH128_hash_t text;
	uint64_t prefix;
	int64_t state_id; /* 0: free */
	bool shared;
};

struct shared {
	const struct run *run;
	sqlite3 *db;
	int64_t topic_id, incarnation_id;
	enum keypart part;
	struct key_prefixes prefixes;
	struct slot *slots;
	size_t used, room; /* room: a power of two, or 0 */
};

/* --- the table ---------------------------------------------------------------------------------------------------- */

static bool is_text(const struct slot *slot, XXH128_hash_t text)
{
	return slot->text.low64 == text.low64 && slot->text.high64 == text.high64;
}

static void put(struct shared *s, const struct slot *slot)
{
	size_t at = (size_t)slot->text.low64 & (s->room - 1);

	while (s->slots[at].state_id)
		at = (at + 1) & (s->room - 1);
	s->slots[at] = *slot;
	s->used++;
}

static void grow(struct shared *s)
{
	struct slot *old = s->slots;
	size_t room = s->room;

	s->room = room ? room * 2 : 1024;
	s->slots = xarray(s->room, sizeof(*s->slots));
	s->used = 0;
	for (size_t i = 0; i < room; i++)
		if (old[i].state_id)
			put(s, &old[i]);
	free(old);
}

/* What a key is by its prefix and what stands behind it; false where it has no such prefix. */
static bool take_apart(const struct shared *s, const uint8_t *key, size_t size, struct slot *slot)
{
	size_t prefix = key_format_prefix(s->prefixes.format);

	if (!key_format_has_prefix(s->prefixes.format, key, size))
		return false;
	slot->text = XXH3_128bits(key + prefix, size - prefix);
	slot->prefix = XXH3_64bits(key, prefix);
	return true;
}

static int load_samples(struct shared *s, struct trouble *t)
{
	sqlite3_stmt *rows = db_query(s->db, sql_queries_shared_samples, s->topic_id, t);
	int more;

	while ((more = db_step(rows, t)) > 0) {
		const uint8_t *key = sqlite3_column_blob(rows, 1);
		struct slot slot = { .state_id = sqlite3_column_int64(rows, 0) };

		if (!key || !take_apart(s, key, (size_t)sqlite3_column_bytes(rows, 1), &slot))
			continue;
		if ((s->used + 1) * 3 > s->room * 2)
			grow(s);
		put(s, &slot);
	}
	sqlite3_finalize(rows);
	return more;
}

/* --- passes over the history -------------------------------------------------------------------------------------- */

typedef void key_seen(struct shared *s, const uint8_t *key, size_t size);

static void see_prefix(struct shared *s, const uint8_t *key, size_t size)
{
	key_prefixes_note(&s->prefixes, key, size);
}

static void see_key(struct shared *s, const uint8_t *key, size_t size)
{
	struct slot seen;

	if (!take_apart(s, key, size, &seen))
		return;
	for (size_t at = (size_t)seen.text.low64 & (s->room - 1); s->slots[at].state_id; at = (at + 1) & (s->room - 1))
		if (is_text(&s->slots[at], seen.text) && s->slots[at].prefix != seen.prefix)
			s->slots[at].shared = true;
}

static int read_place(struct shared *s, struct chunk_scan *scan, struct chunk_place place, key_seen *see,
		      struct trouble *t)
{
	struct chunk_part part;
	int more;

	chunk_scan_range(scan, place, 0, INT64_MAX);
	while ((more = chunk_scan_next(scan, &part, t)) > 0) {
		const struct chunk_view *view = part.view;

		for (size_t i = part.from; i < part.to; i++)
			if (!(view->flags[i] & RECORD_NULL_KEY))
				see(s, view->key_bytes + view->key_at[i], view->key_at[i + 1] - view->key_at[i]);
		if (run_stopped(s->run))
			return trouble_set(t, "stopped");
	}
	return more;
}

static int read_history(struct shared *s, key_seen *see, struct trouble *t)
{
	struct chunk_scan *scan = chunk_scan_new(s->db, CHUNK_KEY | CHUNK_FLAGS);
	sqlite3_stmt *places = db_query(s->db, sql_queries_shared_places, s->incarnation_id, t);
	int more;

	chunk_scan_cut(scan, s->part);
	while ((more = db_step(places, t)) > 0) {
		struct chunk_place place = { sqlite3_column_int64(places, 0), sqlite3_column_int64(places, 1),
					     sqlite3_column_int(places, 2) ? CHUNK_ABORTED : CHUNK_COMMITTED };

		if (read_place(s, scan, place, see, t) < 0) {
			more = -1;
			break;
		}
	}
	sqlite3_finalize(places);
	chunk_scan_free(scan);
	return more;
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

static int write_shared(const struct shared *s, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int result = 0;

	if (db_prepare(s->db, sql_queries_shared_add, &stmt, t) < 0)
		return -1;
	for (size_t i = 0; i < s->room && result == 0; i++) {
		if (!s->slots[i].shared)
			continue;
		db_bind_int(stmt, 1, s->slots[i].state_id);
		db_bind_int(stmt, 2, s->topic_id);
		result = db_run(stmt, t);
	}
	sqlite3_finalize(stmt);
	return result;
}

static int find(struct shared *s, struct trouble *t)
{
	if (read_history(s, see_prefix, t) < 0)
		return -1;
	if (s->prefixes.count < 2)
		return 0;
	if (load_samples(s, t) < 0)
		return -1;
	if (!s->used)
		return 0;
	return read_history(s, see_key, t) < 0 ? -1 : write_shared(s, t);
}

int shared_find(const struct run *run, sqlite3 *db, struct trouble *t)
{
	sqlite3_stmt *topics = db_query(db, sql_queries_shared_topics, run->id, t);
	int more;

	while ((more = db_step(topics, t)) > 0) {
		struct shared s = { .run = run, .db = db, .topic_id = sqlite3_column_int64(topics, 0),
				    .incarnation_id = sqlite3_column_int64(topics, 1) };
		const char *word = (const char *)sqlite3_column_text(topics, 2);
		const char *part = (const char *)sqlite3_column_text(topics, 4);

		if (!word)
			continue;
		if (!key_format_by_word(word, &s.prefixes.format) ||
		    (part && !keypart_by_word(part, strlen(part), &s.part))) {
			more = trouble_set(t, "there is no key format \"%s\", or no key part \"%s\"", word,
					   part ? part : keypart_word(KEYPART_WHOLE));
			break;
		}
		if (!key_format_prefix(s.prefixes.format))
			continue;
		more = find(&s, t);
		free(s.slots);
		if (more < 0) {
			trouble_wrap(t, "find keys of %s that share a Redis key",
				     (const char *)sqlite3_column_text(topics, 3));
			break;
		}
	}
	sqlite3_finalize(topics);
	return more;
}

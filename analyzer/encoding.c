/* encoding: the keys of two topics in memory, the question, and its answer as a row. */
#include "analyzer/encoding.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/encoding_state.h"
#include "sql/db.h"
#include "sql/mem.h"
#include "sql_data.h"

enum { KEYS_WANTED = 2000, KEYS_MOST = 64000, ROOM_FIRST = 1024 };

#define ALL_HASHES (UINT64_C(1) << 63)

/* A topic of a pair. */
struct side {
	int64_t topic_id, threshold, keys;
};

struct pair {
	struct side source, other;
	bool same_count;
	struct encoding_keys keys; /* of the one that has more */
	struct encoding_trial trial;
	int64_t compared, identical;
};

/* --- keys --------------------------------------------------------------------------------------------------------- */

static struct encoding_slot *place(const struct encoding_keys *keys, int64_t hash)
{
	size_t at = (size_t)hash & (keys->room - 1);

	while (keys->slots[at].hash >= 0 && keys->slots[at].hash != hash)
		at = (at + 1) & (keys->room - 1);
	return &keys->slots[at];
}

static void resize(struct encoding_keys *keys, size_t room)
{
	struct encoding_keys old = *keys;

	keys->room = room;
	keys->slots = xarray(room, sizeof(*keys->slots));
	for (size_t i = 0; i < room; i++)
		keys->slots[i].hash = -1;
	for (size_t i = 0; i < old.room; i++)
		if (old.slots[i].hash >= 0)
			*place(keys, old.slots[i].hash) = old.slots[i];
	free(old.slots);
}

void encoding_keys_add(struct encoding_keys *keys, const struct encoding_key *key)
{
	struct encoding_slot *slot;

	if ((keys->count + 1) * 3 > keys->room * 2)
		resize(keys, keys->room ? keys->room * 2 : ROOM_FIRST);
	for (size_t i = 0; i <= KEY_PREFIX_GLUE; i++)
		key_prefixes_note(&keys->prefixes[i], key->bytes, key->size);
	slot = place(keys, key->hash);
	if (slot->hash >= 0 && slot->last_ms >= key->last_ms)
		return;
	keys->count += slot->hash < 0;
	*slot = (struct encoding_slot){ key->hash, key->last_ms, key->partition };
}

const struct encoding_slot *encoding_keys_find(const struct encoding_keys *keys, int64_t hash)
{
	const struct encoding_slot *slot = keys->room ? place(keys, hash) : NULL;

	return slot && slot->hash >= 0 ? slot : NULL;
}

void encoding_keys_release(struct encoding_keys *keys)
{
	free(keys->slots);
	*keys = (struct encoding_keys){ 0 };
}

static struct encoding_key read_key(sqlite3_stmt *row)
{
	const void *bytes = sqlite3_column_blob(row, 1); /* NULL for no bytes */

	return (struct encoding_key){ sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 3), bytes ? bytes : "",
				      (size_t)sqlite3_column_bytes(row, 1), sqlite3_column_int(row, 2) };
}

static int load_keys(sqlite3 *db, const struct side *side, struct encoding_keys *keys, struct trouble *t)
{
	static const enum key_format of_kind[] = { KEY_FORMAT_RAW, KEY_FORMAT_CONFLUENT_RAW,
						   KEY_FORMAT_CONFLUENT_PROTOBUF_LONG, KEY_FORMAT_GLUE_RAW };
	sqlite3_stmt *rows = db_query(db, sql_queries_encoding_all, side->topic_id, t);
	int more;

	for (size_t i = 0; i < sizeof(of_kind) / sizeof(of_kind[0]); i++)
		keys->prefixes[i].format = of_kind[i];
	keys->threshold = side->threshold;
	db_bind_int(rows, 2, side->threshold);
	while ((more = db_step(rows, t)) > 0) {
		struct encoding_key key = read_key(rows);

		encoding_keys_add(keys, &key);
	}
	sqlite3_finalize(rows);
	return more;
}

static int count_keys(sqlite3 *db, struct side *side, struct trouble *t)
{
	sqlite3_stmt *stmt = db_query(db, sql_queries_encoding_count, side->topic_id, t);
	int more;

	db_bind_int(stmt, 2, side->threshold);
	more = db_step(stmt, t);
	if (more > 0)
		side->keys = db_int(stmt, 0);
	sqlite3_finalize(stmt);
	return more < 0 ? -1 : 0;
}

/* --- the question ------------------------------------------------------------------------------------------------- */

static void compare_as_is(struct pair *pair, const struct encoding_key *key)
{
	pair->compared += key->hash < pair->keys.threshold;
	pair->identical += encoding_keys_find(&pair->keys, key->hash) != NULL;
}

static void compare_all(struct pair *pair, const struct encoding_key *key)
{
	encoding_try(&pair->trial, key);
}

int64_t encoding_wanted(int64_t threshold)
{
	int64_t wanted = KEYS_WANTED;

	/* Halving leaves a power of two, or a little less. */
	for (uint64_t part = (uint64_t)threshold; part < ALL_HASHES / 4 * 3 && wanted < KEYS_MOST; part *= 2)
		wanted *= 2;
	return wanted;
}

/* Rows come by hash and key, the newest record first. */
static int each_key(const struct run *run, sqlite3 *db, struct pair *pair, const struct side *side,
		    void (*use)(struct pair *pair, const struct encoding_key *key), struct trouble *t)
{
	int64_t seen = -1;
	sqlite3_stmt *rows = db_query(db, sql_queries_encoding_smallest, side->topic_id, t);
	int more;

	db_bind_int(rows, 2, side->threshold);
	db_bind_int(rows, 3, encoding_wanted(pair->keys.threshold));
	while ((more = db_step(rows, t)) > 0) {
		struct encoding_key key = read_key(rows);

		if (key.hash != seen)
			use(pair, &key);
		seen = key.hash;
		if (run_stopped(run)) {
			more = trouble_set(t, "stopped");
			break;
		}
	}
	sqlite3_finalize(rows);
	return more;
}

/* --- the answer --------------------------------------------------------------------------------------------------- */

static void add_hex(struct buffer *out, const struct buffer *bytes)
{
	buffer_add(out, "\"", 1);
	keyformat_render(KEY_FORMAT_HEX, bytes->data ? bytes->data : (const uint8_t *)"", bytes->size, out);
	buffer_add(out, "\"", 1);
}

/* [["source","other"], ...] */
static void list_samples(const struct encoding_score *score, bool swapped, struct buffer *out)
{
	buffer_add(out, "[", 1);
	for (int64_t i = 0; i < score->same && i < ENCODING_SAMPLES; i++) {
		const struct encoding_sample *s = &score->samples[i];

		buffer_add(out, i ? ",[" : "[", i ? 2 : 1);
		add_hex(out, swapped ? &s->theirs : &s->mine);
		buffer_add(out, ",", 1);
		add_hex(out, swapped ? &s->mine : &s->theirs);
		buffer_add(out, "]", 1);
	}
	buffer_add(out, "]", 2); /* and its NUL */
}

/* What a topic of the pair is told to be, from column on: format, words, serializer, two columns apart. */
static void bind_side(sqlite3_stmt *stmt, int column, enum key_format format, const struct buffer *words)
{
	const char *serializer = encoding_serializer(format);

	db_bind_text(stmt, column, key_format_word(format));
	db_bind_text(stmt, column + 2, (const char *)words->data);
	db_bind_text(stmt, column + 4, serializer ? serializer : (const char *)words->data);
}

static int write_row(sqlite3 *db, const struct pair *pair, bool swapped, int best, struct trouble *t)
{
	const struct encoding_score *score = best < 0 ? NULL : &pair->trial.score[best];
	struct buffer mine = { 0 }, theirs = { 0 }, samples = { 0 };
	sqlite3_stmt *stmt;
	int result;

	if (db_prepare(db, sql_queries_encoding_add, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, pair->source.topic_id);
	db_bind_int(stmt, 2, pair->other.topic_id);
	db_bind_int(stmt, 3, pair->compared);
	db_bind_int(stmt, 4, pair->identical);
	if (score) {
		enum key_format format = (enum key_format)(best / KEY_FORMAT_COUNT),
				their_format = (enum key_format)(best % KEY_FORMAT_COUNT);

		encoding_words(format, score->binary, &score->samples[0].mine, &mine);
		encoding_words(their_format, score->their_binary, &score->samples[0].theirs, &theirs);
		list_samples(score, swapped, &samples);
		bind_side(stmt, swapped ? 6 : 5, format, &mine);
		bind_side(stmt, swapped ? 5 : 6, their_format, &theirs);
		db_bind_int(stmt, 11, score->compared);
		db_bind_int(stmt, 12, score->same);
		db_bind_int(stmt, 13, pair->same_count ? score->apart : UNKNOWN);
		db_bind_text(stmt, 14, (const char *)samples.data);
	}
	result = db_run(stmt, t);
	sqlite3_finalize(stmt);
	buffer_release(&mine);
	buffer_release(&theirs);
	buffer_release(&samples);
	return result;
}

/* Keys of the topic that has fewer are looked for in the other; swapped: that is the other of the pair. */
static int ask(const struct run *run, sqlite3 *db, struct pair *pair, struct trouble *t)
{
	bool swapped = pair->other.keys < pair->source.keys;
	const struct side *few = swapped ? &pair->other : &pair->source, *many = swapped ? &pair->source : &pair->other;
	int best;

	if (load_keys(db, many, &pair->keys, t) < 0 || each_key(run, db, pair, few, compare_as_is, t) < 0)
		return -1;
	if (pair->compared - pair->identical < ENCODING_SAME_LEAST)
		return 0;
	if (each_key(run, db, pair, few, compare_all, t) < 0)
		return -1;
	best = encoding_best(pair->trial.score);
	return write_row(db, pair, swapped, best, t);
}

static void pair_release(struct pair *pair)
{
	for (int i = 0; i < KEY_FORMAT_COUNT * KEY_FORMAT_COUNT; i++) {
		for (int j = 0; j < ENCODING_SAMPLES; j++) {
			buffer_release(&pair->trial.score[i].samples[j].mine);
			buffer_release(&pair->trial.score[i].samples[j].theirs);
		}
	}
	free(pair->trial.score);
	buffer_release(&pair->trial.text);
	buffer_release(&pair->trial.whole);
	encoding_keys_release(&pair->keys);
}

static int compare(const struct run *run, sqlite3 *db, sqlite3_stmt *row, struct trouble *t)
{
	struct pair pair = {
		.source = { .topic_id = sqlite3_column_int64(row, 0), .threshold = sqlite3_column_int64(row, 1) },
		.other = { .topic_id = sqlite3_column_int64(row, 2), .threshold = sqlite3_column_int64(row, 3) },
		.same_count = sqlite3_column_int(row, 4) == 1,
	};
	int result;

	pair.trial.keys = &pair.keys;
	pair.trial.score = xarray(KEY_FORMAT_COUNT * KEY_FORMAT_COUNT, sizeof(*pair.trial.score));
	result = count_keys(db, &pair.source, t);
	if (result == 0)
		result = count_keys(db, &pair.other, t);
	if (result == 0 && pair.source.keys && pair.other.keys)
		result = ask(run, db, &pair, t);
	pair_release(&pair);
	return result;
}

int encoding_find(const struct run *run, sqlite3 *db, struct trouble *t)
{
	sqlite3_stmt *pairs = db_query(db, sql_queries_encoding_pairs, run->id, t);
	int more;

	while ((more = db_step(pairs, t)) > 0) {
		if (compare(run, db, pairs, t) < 0) {
			more = trouble_wrap(t, "compare the keys of %s and %s",
					    (const char *)sqlite3_column_text(pairs, 5),
					    (const char *)sqlite3_column_text(pairs, 6));
			break;
		}
	}
	sqlite3_finalize(pairs);
	return more;
}

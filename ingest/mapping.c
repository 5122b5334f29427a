/* mapping: does the key template fit at all? */
#include "ingest/mapping.h"

#include <stdio.h>
#include <string.h>

#include "ingest/horizon.h"
#include "sql/db.h"
#include "sql/mem.h"
#include "sql_data.h"

enum { ENOUGH_KEYS = 100, STRETCH = 100000 }; /* STRETCH: offsets looked at below the end of a horizon */

struct sides {
	int64_t keys, nameless; /* record keys in the sample; those without a Redis key of their own */
	int64_t record_keys, in_redis, redis_keys; /* looked at; found; of the server */
};

/* Of the record keys of the key sets: in Redis are those whose look found something. */
static void count_sides(const struct lane *lane, struct sides *sides)
{
	*sides = (struct sides){ .redis_keys = sampler_server_keys(lane->sampler) };
	for (size_t i = 0; i < lane->count; i++) {
		struct keyset *keys = lane->subjects[i].keys;
		const struct keyset_entry *entry;
		size_t at = 0;

		sides->nameless += lane->subjects[i].counts.nameless;
		while (keys && (entry = keyset_next(keys, &at)) != NULL) {
			sides->keys++;
			sides->record_keys += entry->seen;
			sides->in_redis += entry->present;
		}
	}
}

static int fitted_before(struct plan *plan, const struct lane *lane, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int more;

	if (db_prepare(plan->db, sql_queries_mapping_fitted, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, plan->run->id);
	db_bind_text(stmt, 2, lane->pipeline->name);
	db_bind_text(stmt, 3, lane->pipeline->mapping_sha256);
	more = db_step(stmt, t);
	if (more > 0)
		more = db_int(stmt, 0) > 0;
	sqlite3_finalize(stmt);
	return more;
}

/* A format, and where other than the whole key is meant, the part, as the config says it. */
struct guess {
	char text[80];
};

/* The format with most hits among the record keys tried, in text; NULL where none has any. */
static const char *best_format(const struct lane *lane, struct guess *guess, struct trouble *what)
{
	int64_t hits[KEY_GUESSES] = { 0 }, tried = 0;
	int best = -1;

	for (size_t i = 0; i < lane->count; i++) {
		const struct subject *subject = &lane->subjects[i];
		struct sample_subject about = {
			.pipeline = lane->pipeline,
			.topic = subject_history(lane, subject)->topic,
			.topic_id = subject->topic_id,
		};

		if (subject->keys && sampler_try_formats(lane->sampler, &about, subject->keys, &tried, hits, what) < 0)
			return NULL;
	}
	for (int i = 0; i < KEY_GUESSES; i++)
		if (hits[i] > 0 && (best < 0 || hits[i] > hits[best]))
			best = i;
	if (best < 0)
		return NULL;
	snprintf(guess->text, sizeof(guess->text), "%s%s%s", key_format_word((enum key_format)(best % KEY_FORMAT_COUNT)),
		 best < KEY_FORMAT_COUNT ? "" : " with key.part: ",
		 best < KEY_FORMAT_COUNT ? "" : keypart_word((enum keypart)(best / KEY_FORMAT_COUNT)));
	return guess->text;
}

static bool is_absent(struct keyset *keys, sqlite3_stmt *row)
{
	const void *key = sqlite3_column_blob(row, 0);
	size_t size = (size_t)sqlite3_column_bytes(row, 0);
	const struct keyset_entry *entry = keyset_find(keys, keyset_hash(key ? key : "", size), key ? key : "", size);

	return entry && entry->seen && !entry->present;
}

static int add_due(struct plan *plan, const struct lane *lane, const struct subject *subject, int32_t p, int64_t *due,
		   struct trouble *t)
{
	const struct topic_history *history = subject_history(lane, subject);
	const struct pipeline_config *pipeline = lane->pipeline;
	int64_t now_us = run_now_us(plan->run), end = horizon_end(lane, &subject->looks[p], now_us),
		start = history->parts[p].first;
	int64_t expires_ms = pipeline->expires_ms;
	char placer[PLACER_TEXT];
	sqlite3_stmt *stmt;
	int more;

	if (end == UNKNOWN || start == UNKNOWN)
		return 0;
	if (subject->looks[p].from != UNKNOWN && subject->looks[p].from > start)
		start = subject->looks[p].from;
	if (db_prepare(plan->db, sql_queries_mapping_due, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, history->incarnation_id);
	db_bind_int(stmt, 2, p);
	db_bind_int(stmt, 3, end - start > STRETCH ? end - STRETCH : start);
	db_bind_int(stmt, 4, end);
	db_bind_int(stmt, 5, history->partitions);
	db_bind_int(stmt, 6, pipeline->tombstones == TOMBSTONES_APPLY);
	placer_text(&pipeline->placer, placer);
	db_bind_text(stmt, 8, placer);
	db_bind_int(stmt, 7, expires_ms == UNKNOWN ? INT64_MIN + 1 : now_us / 1000 - expires_ms);
	db_bind_text(stmt, 9, keypart_word(pipeline->key_part));
	while ((more = db_step(stmt, t)) > 0)
		*due += is_absent(subject->keys, stmt);
	sqlite3_finalize(stmt);
	return more;
}

/*
 * Sampled keys that must have a hash and have none. Those that nobody has come to yet, that were deleted or have
 * expired, tell nothing.
 */
static int count_due(struct plan *plan, const struct lane *lane, int64_t *due, struct trouble *t)
{
	*due = 0;
	for (size_t i = 0; i < lane->count; i++) {
		const struct subject *subject = &lane->subjects[i];

		for (int32_t p = 0; subject->keys && p < subject->look_count; p++)
			if (add_due(plan, lane, subject, p, due, t) < 0)
				return -1;
	}
	return 0;
}

static int record_broken(struct plan *plan, struct lane *lane, const struct sides *sides, int64_t due,
			 struct trouble *t)
{
	struct trouble what = { 0 }, why = { 0 };
	struct guess guess;
	const char *format = best_format(lane, &guess, &why);

	lane->mapping = "broken";
	if (format) {
		lane->mapping_hint = xstrdup(format);
		trouble_set(
			&what,
			"the mapping does not fit: none of %lld record keys exists in Redis as %s with key.format: %s; "
			"key.format: %s would fit",
			(long long)due, template_text(lane->pipeline->key), key_format_word(lane->pipeline->key_format),
			format);
	} else if (why.text[0]) {
		trouble_set(&what,
			    "the mapping does not fit: none of %lld record keys exists in Redis as %s with key.format: "
			    "%s; other formats "
			    "could not be tried: %s",
			    (long long)due, template_text(lane->pipeline->key),
			    key_format_word(lane->pipeline->key_format), why.text);
	} else {
		trouble_set(&what,
			    "the mapping does not fit: none of %lld record keys exists in Redis as %s in any "
			    "key.format, though the "
			    "database holds %lld keys; check key, redis.url and its database number",
			    (long long)due, template_text(lane->pipeline->key), (long long)sides->redis_keys);
	}
	return plan_trouble(plan, "sample", lane, NULL, UNKNOWN, &what, t);
}

/*
 * No record key has a Redis key of its own: in this format none can be written, or the longer template of another
 * pipeline has them all. Nothing was looked at then, which is not nothing found.
 */
static int record_nameless(struct plan *plan, struct lane *lane, int64_t keys, struct trouble *t)
{
	const char *own = key_format_word(lane->pipeline->key_format), *template = template_text(lane->pipeline->key);
	struct trouble what = { 0 }, why = { 0 };
	struct guess guess;
	const char *format = best_format(lane, &guess, &why);

	lane->mapping = "broken";
	if (format && strcmp(format, own) != 0) {
		lane->mapping_hint = xstrdup(format);
		trouble_set(&what,
			    "the mapping does not fit: none of %lld record keys can be written as %s with key.format: "
			    "%s; key.format: %s "
			    "would fit",
			    (long long)keys, template, own, format);
	} else {
		trouble_set(&what,
			    "the mapping does not fit: none of %lld record keys has a Redis key of its own as %s with "
			    "key.format: %s; it "
			    "cannot be written so, or belongs to the longer template of another pipeline",
			    (long long)keys, template, own);
	}
	return plan_trouble(plan, "sample", lane, NULL, UNKNOWN, &what, t);
}

int mapping_judge(struct plan *plan, struct lane *lane, struct trouble *t)
{
	struct sides sides;
	int64_t due;
	bool nothing; /* not one key was looked at */
	int fitted;

	count_sides(lane, &sides);
	if (sides.in_redis > 0) {
		lane->mapping = "fits";
		return 0;
	}
	nothing = sides.nameless > 0 && sides.nameless == sides.keys;
	if (!nothing && (sides.record_keys + sides.nameless < ENOUGH_KEYS || sides.redis_keys < ENOUGH_KEYS))
		return 0;
	fitted = fitted_before(plan, lane, t);
	if (fitted < 0)
		return -1;
	if (nothing)
		return fitted && sides.keys < ENOUGH_KEYS ? 0 : record_nameless(plan, lane, sides.keys, t);
	if (fitted)
		return 0;
	if (count_due(plan, lane, &due, t) < 0)
		return -1;
	due += sides.nameless;
	return due < ENOUGH_KEYS ? 0 : record_broken(plan, lane, &sides, due, t);
}

/* mapping: does the key template fit at all? */
#include "ingest/mapping.h"

#include "sql/db.h"
#include "sql/mem.h"
#include "sql_data.h"

enum { ENOUGH_KEYS = 100 };

struct sides {
	int64_t record_keys, in_redis, redis_keys;
};

/* Of the record keys of the key sets: in Redis are those whose look found something. */
static void count_sides(const struct lane *lane, struct sides *sides)
{
	*sides = (struct sides){ .redis_keys = sampler_server_keys(lane->sampler) };
	for (size_t i = 0; i < lane->count; i++) {
		struct keyset *keys = lane->subjects[i].keys;
		const struct keyset_entry *entry;
		size_t at = 0;

		while (keys && (entry = keyset_next(keys, &at)) != NULL) {
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

/* The format with most hits among the record keys tried; NULL where none has any. */
static const char *best_format(const struct lane *lane, struct trouble *what)
{
	int64_t hits[KEY_FORMAT_COUNT] = { 0 }, tried = 0;
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
	for (int f = 0; f < KEY_FORMAT_COUNT; f++)
		if (hits[f] > 0 && (best < 0 || hits[f] > hits[best]))
			best = f;
	return best < 0 ? NULL : key_format_word((enum key_format)best);
}

static int record_broken(struct plan *plan, struct lane *lane, const struct sides *sides, struct trouble *t)
{
	struct trouble what = { 0 }, unused = { 0 };
	const char *format = best_format(lane, &unused);

	lane->mapping = "broken";
	if (format) {
		lane->mapping_hint = xstrdup(format);
		trouble_set(&what, "the mapping does not fit: none of %lld record keys exists in Redis as %s with key.format: %s; "
			    "key.format: %s would fit", (long long)sides->record_keys, template_text(lane->pipeline->key),
			    key_format_word(lane->pipeline->key_format), format);
	} else {
		trouble_set(&what, "the mapping does not fit: none of %lld record keys exists in Redis as %s in any key.format, though the "
			    "database holds %lld keys; check key, redis.url and its database number", (long long)sides->record_keys,
			    template_text(lane->pipeline->key), (long long)sides->redis_keys);
	}
	return plan_trouble(plan, "sample", lane, NULL, UNKNOWN, &what, t);
}

int mapping_judge(struct plan *plan, struct lane *lane, struct trouble *t)
{
	struct sides sides;
	int fitted;

	count_sides(lane, &sides);
	if (sides.in_redis > 0) {
		lane->mapping = "fits";
		return 0;
	}
	if (sides.record_keys < ENOUGH_KEYS || sides.redis_keys < ENOUGH_KEYS)
		return 0;
	fitted = fitted_before(plan, lane, t);
	if (fitted != 0)
		return fitted < 0 ? -1 : 0;
	return record_broken(plan, lane, &sides, t);
}

/* keys: which keys a run looks at. */
#include "ingest/keys.h"

#include <stdlib.h>

#include "sql/db.h"
#include "sql/mem.h"
#include "sql_data.h"

static int one_number(sqlite3 *db, const char *sql, const int64_t *values, int count, int64_t *number,
		      struct trouble *t)
{
	sqlite3_stmt *stmt;
	int more;

	if (db_prepare(db, sql, &stmt, t) < 0)
		return -1;
	for (int i = 0; i < count; i++)
		db_bind_int(stmt, i + 1, values[i]);
	more = db_step(stmt, t);
	*number = more > 0 ? db_int(stmt, 0) : UNKNOWN;
	sqlite3_finalize(stmt);
	return more < 0 ? -1 : 0;
}

/*
 * Recent: within `recent` of the newest record; a record time in the future (producers choose it) counts as now.
 * --since: from then on.
 */
static int recent_from(struct plan *plan, const struct topic_history *history, int64_t *from_ms, struct trouble *t)
{
	int64_t values[2] = { history->incarnation_id, run_now_us(plan->run) / 1000 }, newest;

	if (plan->options->since_us != UNKNOWN) {
		*from_ms = plan->options->since_us / 1000;
		return 0;
	}
	if (one_number(plan->db, sql_queries_ingest_newest_ms, values, 2, &newest, t) < 0)
		return -1;
	*from_ms = newest == UNKNOWN ? UNKNOWN : newest - plan->options->config->recent_ms;
	return 0;
}

int keys_begin(struct plan *plan, struct lane *lane, size_t memory, struct trouble *t)
{
	bool since = plan->options->since_us != UNKNOWN;
	int64_t limit = plan->options->all_keys || since ? INT64_MAX : plan->options->config->sample_keys;

	for (size_t i = 0; i < lane->count; i++) {
		struct subject *subject = &lane->subjects[i];

		if (subject->role != ROLE_SOURCE)
			continue;
		if (recent_from(plan, subject_history(lane, subject), &subject->recent_from_ms, t) < 0)
			return -1;
		subject->keys = keyset_new(limit, memory, since);
		keyset_cut(subject->keys, lane->pipeline->key_part);
		keyset_note_prefixes(subject->keys, lane->pipeline->key_format);
		subject->keyed_incarnation = subject_history(lane, subject)->incarnation_id;
	}
	return 0;
}

/*
 * recent_offset[p]: records at or above were written since the previous run, or, for --since, follow one that was
 * written since.
 */
static int recent_offsets(struct plan *plan, const struct lane *lane, const struct subject *subject, int64_t *offsets,
			  struct trouble *t)
{
	const struct topic_history *history = subject_history(lane, subject);
	sqlite3_stmt *stmt;
	int more;

	if (db_prepare(plan->db, sql_queries_ingest_previous, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, history->incarnation_id);
	db_bind_int(stmt, 2, plan->run->id);
	db_bind_text(stmt, 3, lane->pipeline->name);
	while ((more = db_step(stmt, t)) > 0)
		if (db_int(stmt, 0) < subject->look_count)
			offsets[db_int(stmt, 0)] = db_int(stmt, 1);
	sqlite3_finalize(stmt);
	return more;
}

static int since_offsets(struct plan *plan, const struct topic_history *history, int64_t since_ms, int64_t *offsets,
			 struct trouble *t)
{
	for (int32_t p = 0; p < history->partitions; p++) {
		int64_t values[3] = { history->incarnation_id, p, since_ms };

		if (one_number(plan->db, sql_queries_ingest_first_since, values, 3, &offsets[p], t) < 0)
			return -1;
		if (offsets[p] == UNKNOWN)
			offsets[p] = INT64_MAX;
	}
	return 0;
}

static int extend_part(struct plan *plan, const struct lane *lane, struct subject *subject, int32_t p,
		       int64_t recent_offset, struct trouble *t)
{
	const struct topic_history *history = subject_history(lane, subject);
	struct keyset_range range = {
		.incarnation_id = history->incarnation_id,
		.partition = p,
		.start = subject->keyed[p] == UNKNOWN ? history->parts[p].first : subject->keyed[p],
		.end = history->parts[p].next,
		.recent_offset = recent_offset,
		.recent_ms = subject->recent_from_ms == UNKNOWN ? INT64_MAX : subject->recent_from_ms,
	};

	if (range.start == UNKNOWN || range.start >= range.end)
		return 0;
	subject->keyed[p] = range.end;
	return keyset_add(plan->run, subject->keys, plan->db, &range, t);
}

/* --since begins with a main threshold of 0. */
static bool is_halved(const struct keyset *keys)
{
	int64_t main = keyset_main_threshold(keys), recent = keyset_recent_threshold(keys);

	return recent < INT64_MAX || (main > 0 && main < INT64_MAX);
}

static int extend_subject(struct plan *plan, struct lane *lane, struct subject *subject, struct trouble *t)
{
	const struct topic_history *history = subject_history(lane, subject);
	int64_t *offsets = xarray((size_t)history->partitions, sizeof(*offsets));
	int result;

	subject_grow(subject, history);
	for (int32_t p = 0; p < history->partitions; p++)
		offsets[p] = INT64_MAX;
	if (plan->options->since_us != UNKNOWN)
		result = since_offsets(plan, history, subject->recent_from_ms, offsets, t);
	else
		result = recent_offsets(plan, lane, subject, offsets, t);
	for (int32_t p = 0; result == 0 && p < history->partitions && !run_stopped(plan->run); p++)
		result = extend_part(plan, lane, subject, p, offsets[p], t);
	free(offsets);
	if (result == 0 && keyset_count(subject->keys) == 0 && is_halved(subject->keys))
		return trouble_set(t, "not one key fits in the memory; allow more with --memory");
	return result;
}

int keys_extend(struct plan *plan, struct lane *lane, struct trouble *t)
{
	for (size_t i = 0; i < lane->count; i++)
		if (lane->subjects[i].keys && extend_subject(plan, lane, &lane->subjects[i], t) < 0)
			return trouble_wrap(t, "read the keys of %s", subject_history(lane, &lane->subjects[i])->topic);
	return 0;
}

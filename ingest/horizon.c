/* horizon: the offsets [start, end) that a run may hold Redis responsible for. */
#include "ingest/horizon.h"

#include <stdio.h>

#include "sql/db.h"
#include "sql/facts.h"
#include "sql_data.h"

static int read_subject_proven(struct plan *plan, const struct lane *lane, struct subject *subject, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int more;

	if (db_prepare(plan->db, sql_queries_horizon_proven, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, subject_history(lane, subject)->incarnation_id);
	db_bind_int(stmt, 2, plan->run->id);
	db_bind_text(stmt, 3, lane->pipeline->name);
	db_bind_text(stmt, 4, lane->pipeline->group);
	db_bind_text(stmt, 5, horizon_word(lane->pipeline->horizon));
	db_bind_int(stmt, 6, lane->pipeline->horizon_age_ms);
	db_bind_text(stmt, 7, lane->pipeline->mapping_sha256);
	while ((more = db_step(stmt, t)) > 0) {
		int64_t partition = db_int(stmt, 0);

		if (partition < subject->look_count) {
			subject->looks[partition].proven = db_int(stmt, 1);
			subject->looks[partition].proven_run = db_int(stmt, 2);
		}
	}
	sqlite3_finalize(stmt);
	return more;
}

int horizon_read_proven(struct plan *plan, struct lane *lane, struct trouble *t)
{
	for (size_t i = 0; i < lane->count; i++) {
		struct subject *subject = &lane->subjects[i];

		subject_grow(subject, subject_history(lane, subject));
		if (subject->role == ROLE_SOURCE && read_subject_proven(plan, lane, subject, t) < 0)
			return trouble_wrap(t, "read the horizons of earlier runs");
	}
	return 0;
}

int64_t horizon_wait_us(const struct plan *plan, const struct lane *lane)
{
	int64_t latest = UNKNOWN, ripe;

	if (lane->pipeline->horizon != HORIZON_AGE || lane->lost)
		return 0;
	for (size_t i = 0; i < lane->count; i++) {
		const struct subject *subject = &lane->subjects[i];

		for (int32_t p = 0; p < subject->look_count; p++)
			if (subject->looks[p].first_end.at_us > latest)
				latest = subject->looks[p].first_end.at_us;
	}
	if (latest == UNKNOWN)
		return 0;
	ripe = latest + lane->pipeline->horizon_age_ms * 1000;
	return ripe > run_now_us(plan->run) ? ripe - run_now_us(plan->run) : 0;
}

struct bound {
	int64_t end;        /* UNKNOWN: none */
	const char *source; /* of the end */
	const char *reason; /* why there is none */
};

/*
 * Records below the high watermark that was read before C existed when C was read, so C speaks for them; a commit
 * beyond the log speaks for nothing more.
 */
static struct bound commit_bound(const struct partition_looks *looks)
{
	struct bound b = { .end = UNKNOWN };

	if (looks->commit.value != UNKNOWN && looks->high_watermark.value != UNKNOWN) {
		b.end = looks->commit.value < looks->high_watermark.value ? looks->commit.value
									  : looks->high_watermark.value;
		b.source = "committed";
	} else {
		b.reason = looks->commit.at_us == UNKNOWN || looks->commit.trouble.text[0] ||
					   looks->high_watermark.value == UNKNOWN
				   ? "commit-unknown"
				   : "no-commit";
	}
	return b;
}

static struct bound age_bound(const struct lane *lane, const struct look *first_end, int64_t sampled_us)
{
	struct bound b = { .end = UNKNOWN };

	if (first_end->value == UNKNOWN || first_end->at_us + lane->pipeline->horizon_age_ms * 1000 > sampled_us) {
		b.reason = "not-yet-old";
	} else {
		b.end = first_end->value;
		b.source = "age";
	}
	return b;
}

static struct bound bound_of(const struct lane *lane, const struct partition_looks *looks, int64_t sampled_us,
			     char *words, size_t room)
{
	struct bound b = lane->pipeline->horizon == HORIZON_AGE ? age_bound(lane, &looks->first_end, sampled_us)
								: commit_bound(looks);

	if (looks->proven != UNKNOWN && (b.end == UNKNOWN || looks->proven > b.end)) {
		snprintf(words, room, "%s in run %lld", lane->pipeline->horizon == HORIZON_AGE ? "age" : "committed",
			 (long long)looks->proven_run);
		b = (struct bound){ .end = looks->proven, .source = words };
	}
	return b;
}

int64_t horizon_end(const struct lane *lane, const struct partition_looks *looks, int64_t sampled_us)
{
	char words[64];

	return bound_of(lane, looks, sampled_us, words, sizeof(words)).end;
}

static int count_records(struct plan *plan, int64_t incarnation_id, int32_t partition, int64_t *records,
			 struct trouble *t)
{
	sqlite3_stmt *stmt;
	int more;

	if (db_prepare(plan->db, sql_queries_horizon_records, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, incarnation_id);
	db_bind_int(stmt, 2, partition);
	more = db_step(stmt, t);
	*records = more > 0 ? db_int(stmt, 0) : UNKNOWN;
	sqlite3_finalize(stmt);
	return more < 0 ? -1 : 0;
}

static void set_range(struct fact_horizon *row, const struct bound *b)
{
	int64_t start = row->indexed_start, end = b->end;

	if (row->from_offset != UNKNOWN && row->from_offset > start)
		start = row->from_offset;
	if (row->records == 0) {
		row->reason = "empty";
	} else if (b->end == UNKNOWN) {
		row->reason = b->reason;
	} else {
		if (row->indexed_end < end)
			end = row->indexed_end;
		row->start_offset = start;
		row->end_offset = end > start ? end : start;
		row->end_source = b->source;
	}
}

/*
 * Why C is not known; NULL: it is, or there is none. A partition younger than the look at the commits was not asked
 * for.
 */
static const char *commit_trouble(const struct lane *lane, const struct subject *subject, const struct look *commit)
{
	if (commit->trouble.text[0])
		return commit->trouble.text;
	return subject->role == ROLE_SOURCE && lane->pipeline->group && commit->at_us == UNKNOWN ? "not asked for"
												 : NULL;
}

static int record_part(struct plan *plan, const struct lane *lane, const struct subject *subject, int32_t p,
		       int64_t sampled_us, struct trouble *t)
{
	const struct topic_history *history = subject_history(lane, subject);
	const struct topic_part *part = &history->parts[p];
	const struct partition_looks *looks = &subject->looks[p];
	const struct look *known_commit = &looks->commit;
	char words[64];
	struct bound b = { .end = UNKNOWN, .reason = "replay-only" };
	struct fact_horizon row = {
		.run_id = plan->run->id,
		.topic_id = subject->topic_id,
		.partition = p,
		.log_start = looks->first_log_start.value,
		.log_start_us = looks->first_log_start.at_us,
		.end_first = looks->first_end.value,
		.end_first_us = looks->first_end.at_us,
		.log_start_before_commit = looks->log_start.value,
		.log_start_before_commit_us = looks->log_start.at_us,
		.high_watermark_before_commit = looks->high_watermark.value,
		.high_watermark_before_commit_us = looks->high_watermark.at_us,
		.committed = known_commit->value,
		.committed_us = known_commit->at_us,
		.commit_trouble = commit_trouble(lane, subject, known_commit),
		.last_stable = part->last_stable,
		.last_stable_us = part->last_stable_us,
		.high_watermark = part->high_watermark,
		.high_watermark_us = part->high_watermark_us,
		.last_high_watermark = looks->last_high_watermark.value,
		.last_high_watermark_us = looks->last_high_watermark.at_us,
		.indexed_start = part->first,
		.indexed_end = part->next,
		.from_offset = looks->from,
		.start_offset = UNKNOWN,
		.end_offset = UNKNOWN,
		.covered = part->covered,
	};

	if (sampled_us != UNKNOWN)
		b = bound_of(lane, looks, sampled_us, words, sizeof(words));
	if (count_records(plan, history->incarnation_id, p, &row.records, t) < 0)
		return -1;
	if (subject->role == ROLE_SOURCE)
		set_range(&row, &b);
	return fact_horizon_add(plan->db, &row, NULL, t);
}

int horizon_record(struct plan *plan, struct lane *lane, int64_t sampled_us, struct trouble *t)
{
	for (size_t i = 0; i < lane->count; i++) {
		struct subject *subject = &lane->subjects[i];
		const struct topic_history *history = subject_history(lane, subject);

		subject_grow(subject, history);
		for (int32_t p = 0; p < history->partitions; p++)
			if (record_part(plan, lane, subject, p, sampled_us, t) < 0)
				return trouble_wrap(t, "record the horizon of %s/%d", history->topic, (int)p);
	}
	return 0;
}

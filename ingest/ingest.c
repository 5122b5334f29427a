/* ingest: the order of looking. The comment of ingest.h says why it is this one. */
#include "ingest/ingest.h"

#include <stdlib.h>
#include <time.h>

#include "ingest/horizon.h"
#include "ingest/keys.h"
#include "ingest/looks.h"
#include "ingest/mapping.h"
#include "ingest/plan.h"
#include "ingest/stream.h"
#include "sql/db.h"
#include "sql/mem.h"
#include "sql/runlog.h"

enum { REPLICA_WAIT_MS = 30000 };

/* Calls what for each lane that is not lost; where it fails, the lane is lost, said so, and the others go on. */
static int each_lane(struct plan *plan, const char *stage, int (*what)(struct plan *, struct lane *, struct trouble *),
		     struct trouble *t)
{
	for (size_t i = 0; i < plan->lane_count && !run_stopped(plan->run); i++) {
		struct lane *lane = &plan->lanes[i];
		struct trouble why = { 0 };

		if (lane->lost || what(plan, lane, &why) == 0)
			continue;
		lane->lost = true;
		if (plan_trouble(plan, stage, lane, NULL, UNKNOWN, &why, t) < 0)
			return -1;
	}
	return 0;
}

typedef int replay_step(const struct run *, struct source *, sqlite3 *, struct topic_history *, size_t,
			struct trouble *);

static int each_cluster(struct plan *plan, replay_step *step, struct trouble *t)
{
	for (size_t i = 0; i < plan->cluster_count && !run_stopped(plan->run); i++) {
		struct cluster *cluster = &plan->clusters[i];

		if (cluster->source &&
		    step(plan->run, cluster->source, plan->db, cluster->histories, cluster->count, t) < 0)
			return -1;
	}
	return 0;
}

static int replay_tail(struct plan *plan, struct trouble *t)
{
	if (each_cluster(plan, replay_extend, t) < 0)
		return -1;
	return each_cluster(plan, replay_run, t);
}

static int begin_keys(struct plan *plan, struct lane *lane, struct trouble *t)
{
	size_t sets = 0;

	for (size_t i = 0; i < plan->lane_count; i++)
		for (size_t j = 0; j < plan->lanes[i].count; j++)
			sets += plan->lanes[i].subjects[j].role == ROLE_SOURCE;
	return keys_begin(plan, lane, plan->run->memory / (sets ? sets : 1), t);
}

/* horizon = age: sleeps until the ends of step 1 are old enough, in steps short enough for a signal. */
static int wait_for_age(struct plan *plan, struct lane *lane, struct trouble *t)
{
	int64_t wait = horizon_wait_us(plan, lane);

	(void)t;
	if (wait > 0)
		run_note(plan->run, "%s: waiting %lld s until the ends are as old as the horizon asks",
			 lane->pipeline->name, (long long)(wait / 1000000 + 1));
	while ((wait = horizon_wait_us(plan, lane)) > 0 && !run_stopped(plan->run)) {
		int64_t nap = wait < 200000 ? wait : 200000;

		nanosleep(&(struct timespec){ .tv_nsec = nap * 1000 }, NULL);
	}
	return 0;
}

/* Whatever stays unknown of Redis is trouble of the lane, which goes on: its Kafka side is still worth checking. */
static int open_sampler(struct plan *plan, struct lane *lane, struct trouble *t)
{
	struct trouble why = { 0 };

	if (!lane->pipeline->has_redis)
		return 0;
	if (sampler_open(plan->run, &lane->pipeline->redis, plan->options->timeout_ms, &lane->sampler, &why) == 0)
		return 0;
	lane->sampler = NULL;
	return plan_trouble(plan, "sample", lane, NULL, UNKNOWN, &why, t);
}

static struct sample_subject about(const struct lane *lane, const struct subject *subject)
{
	return (struct sample_subject){
		.pipeline = lane->pipeline,
		.topic = subject_history(lane, subject)->topic,
		.topic_id = subject->topic_id,
		.claims = lane->claims,
		.claim_count = lane->claim_count,
	};
}

typedef int look_at_redis(struct plan *, struct lane *, struct writer *, struct trouble *);

static int look_at_server(struct plan *plan, struct lane *lane, struct writer *writer, struct trouble *t)
{
	(void)plan;
	if (sampler_info(lane->sampler, writer, t) < 0)
		return -1;
	if (sampler_catch_up(lane->sampler, REPLICA_WAIT_MS, &lane->replica, t) < 0)
		return -1;
	for (size_t i = 0; i < lane->count && lane->pipeline->epoch; i++) {
		const struct subject *subject = &lane->subjects[i];
		const struct topic_history *history = subject_history(lane, subject);

		if (subject->role == ROLE_SOURCE &&
		    sampler_epochs(lane->sampler, writer, lane->pipeline, subject->topic_id, history->topic,
				   history->partitions, t) < 0)
			return -1;
	}
	return 0;
}

static int look_at_keys(struct plan *plan, struct lane *lane, struct writer *writer, struct trouble *t)
{
	for (size_t i = 0; i < lane->count && !run_stopped(plan->run); i++) {
		struct subject *subject = &lane->subjects[i];
		struct sample_subject subject_about = about(lane, subject);

		if (!subject->keys)
			continue;
		if (plan->options->since_us == UNKNOWN &&
		    sampler_scan(lane->sampler, writer, &subject_about, subject->keys, &subject->counts, t) < 0)
			return -1;
		if (sampler_ask(lane->sampler, writer, &subject_about, subject->keys, &subject->counts, t) < 0)
			return -1;
	}
	return 0;
}

static int ask_the_rest(struct plan *plan, struct lane *lane, struct writer *writer, struct trouble *t)
{
	for (size_t i = 0; i < lane->count && !run_stopped(plan->run); i++) {
		struct subject *subject = &lane->subjects[i];
		struct sample_subject subject_about = about(lane, subject);

		if (subject->keys &&
		    sampler_ask(lane->sampler, writer, &subject_about, subject->keys, &subject->counts, t) < 0)
			return -1;
	}
	return 0;
}

/* Runs one look with a writer of its own. A Redis that fails is trouble of the lane; the index that fails is ours. */
static int with_writer(struct plan *plan, struct lane *lane, look_at_redis *look, struct trouble *t)
{
	struct writer *writer = writer_start(plan->run, plan->db);
	struct trouble why = { 0 };
	int looked = look(plan, lane, writer, &why);

	if (writer_stop(writer, t) < 0)
		return -1;
	if (looked == 0)
		return 0;
	sampler_close(lane->sampler);
	lane->sampler = NULL;
	return plan_trouble(plan, "sample", lane, NULL, UNKNOWN, &why, t);
}

static int scan_troubles(struct plan *plan, struct lane *lane, struct trouble *t)
{
	for (size_t i = 0; i < lane->count; i++) {
		const struct subject *subject = &lane->subjects[i];

		if (subject->counts.scan_trouble.text[0] &&
		    plan_trouble(plan, "sample", lane, subject, UNKNOWN, &subject->counts.scan_trouble, t) < 0)
			return -1;
	}
	return 0;
}

/*
 * Steps 2 and 3 of one lane. The replay between the commits and the samples makes every record below C known before
 * Redis is asked.
 */
static int sample_lane(struct plan *plan, struct lane *lane, struct trouble *t)
{
	if (lane->lost || run_stopped(plan->run) || !lane->pipeline->has_redis)
		return 0;
	if (open_sampler(plan, lane, t) < 0)
		return -1;
	if (lane->sampler && with_writer(plan, lane, look_at_server, t) < 0)
		return -1;
	if (lane->sampler && with_writer(plan, lane, look_at_keys, t) < 0)
		return -1;
	if (scan_troubles(plan, lane, t) < 0)
		return -1;
	return lane->sampler ? mapping_judge(plan, lane, t) : 0;
}

static int sample_lanes(struct plan *plan, int64_t *sampled_us, struct trouble *t)
{
	for (size_t i = 0; i < plan->lane_count; i++) {
		sampled_us[i] = run_now_us(plan->run);
		if (sample_lane(plan, &plan->lanes[i], t) < 0)
			return -1;
	}
	return 0;
}

static int ask_lanes(struct plan *plan, struct trouble *t)
{
	for (size_t i = 0; i < plan->lane_count && !run_stopped(plan->run); i++) {
		struct lane *lane = &plan->lanes[i];

		if (!lane->lost && lane->sampler && with_writer(plan, lane, ask_the_rest, t) < 0)
			return -1;
	}
	return 0;
}

/* What else of a partition was asked for and not answered. */
static int record_unread(struct plan *plan, const struct lane *lane, const struct subject *subject, int32_t p,
			 struct trouble *t)
{
	const struct partition_looks *looks = &subject->looks[p];
	const struct {
		const char *stage;
		const struct trouble *why;
	} unread[] = {
		{ "read the log start of", &looks->log_start.trouble },
		{ "read the high watermark of", &looks->high_watermark.trouble },
		{ "read the commit of", &looks->commit.trouble },
		{ "read the last high watermark of", &looks->last_high_watermark.trouble },
	};

	for (size_t i = 0; i < sizeof(unread) / sizeof(*unread); i++)
		if (unread[i].why->text[0] &&
		    plan_trouble(plan, unread[i].stage, lane, subject, p, unread[i].why, t) < 0)
			return -1;
	return 0;
}

/* The partition whose log now ends below what was indexed of it, or NULL. */
static const struct topic_part *fallen_part(const struct topic_history *history)
{
	for (int32_t p = 0; p < history->partitions; p++) {
		const struct topic_part *part = &history->parts[p];

		if (part->end != UNKNOWN && part->next != UNKNOWN && part->end < part->next)
			return part;
	}
	return NULL;
}

/* A topic that was deleted and created again between two looks: its sample is that of a history which is gone. */
static int record_replaced(struct plan *plan, const struct lane *lane, const struct subject *subject, struct trouble *t)
{
	const struct topic_history *history = subject_history(lane, subject);
	const struct topic_part *part = fallen_part(history);
	struct trouble what = { 0 };

	if (part)
		trouble_set(&what,
			    "the log of partition %d ends at %lld, below the %lld that was indexed: the topic was "
			    "created anew, or its "
			    "history rewritten, while it was looked at; audit again",
			    (int)part->partition, (long long)part->end, (long long)part->next);
	else if (subject->keys && history->incarnation_id != subject->keyed_incarnation)
		trouble_set(
			&what,
			"the topic was created anew, or its history rewritten, while it was looked at; audit again");
	else
		return 0;
	return plan_trouble(plan, "sample", lane, subject, UNKNOWN, &what, t);
}

/* Partitions that were not replayed to their end, and looks that failed. */
static int record_uncovered(struct plan *plan, struct lane *lane, struct trouble *t)
{
	for (size_t i = 0; i < lane->count; i++) {
		struct subject *subject = &lane->subjects[i];
		const struct topic_history *history = subject_history(lane, subject);

		if (record_replaced(plan, lane, subject, t) < 0)
			return -1;
		if (history->trouble.text[0] && !subject->told &&
		    plan_trouble(plan, "replay", lane, subject, UNKNOWN, &history->trouble, t) < 0)
			return -1;
		for (int32_t p = 0; p < history->partitions; p++) {
			if (!history->parts[p].covered &&
			    plan_trouble(plan, "replay", lane, subject, p, &history->parts[p].trouble, t) < 0)
				return -1;
			if (p < subject->look_count && record_unread(plan, lane, subject, p, t) < 0)
				return -1;
		}
	}
	return 0;
}

static int record_lanes(struct plan *plan, const int64_t *sampled_us, struct trouble *t)
{
	if (db_begin(plan->db, t) < 0 || plan_record_end(plan, t) < 0)
		return -1;
	for (size_t i = 0; i < plan->lane_count; i++) {
		struct lane *lane = &plan->lanes[i];

		if (record_uncovered(plan, lane, t) < 0)
			return -1;
		if (horizon_record(plan, lane, sampled_us ? sampled_us[i] : UNKNOWN, t) < 0)
			return -1;
	}
	return db_commit(plan->db, t);
}

struct stopwatch {
	int64_t wall, tick;
};

static struct stopwatch stopwatch_start(const struct run *run)
{
	return (struct stopwatch){ .wall = run_now_us(run), .tick = run_tick_us(run) };
}

static int stopwatch_stop(struct plan *plan, const struct stopwatch *watch, const char *stage, struct trouble *t)
{
	return run_stage(plan->run, plan->db, stage, watch->wall, run_tick_us(plan->run) - watch->tick, t);
}

/* Step 1. */
static int look_replay(struct plan *plan, struct trouble *t)
{
	struct stopwatch watch = stopwatch_start(plan->run);

	if (each_cluster(plan, replay_open, t) < 0)
		return -1;
	if (each_lane(plan, "replay", looks_first, t) < 0 || plan_record(plan, t) < 0 ||
	    each_cluster(plan, replay_run, t) < 0)
		return -1;
	return stopwatch_stop(plan, &watch, "replay", t);
}

/* Steps 2 and 3. */
static int look_sample(struct plan *plan, int64_t *sampled_us, struct trouble *t)
{
	struct stopwatch watch = stopwatch_start(plan->run);

	if (each_lane(plan, "replay", looks_from, t) < 0 || each_lane(plan, "replay", horizon_read_proven, t) < 0 ||
	    each_lane(plan, "sample", begin_keys, t) < 0 || each_lane(plan, "sample", keys_extend, t) < 0 ||
	    each_lane(plan, "sample", wait_for_age, t) < 0 || each_lane(plan, "sample", looks_before_sampling, t) < 0 ||
	    replay_tail(plan, t) < 0 || each_lane(plan, "sample", keys_extend, t) < 0 ||
	    sample_lanes(plan, sampled_us, t) < 0)
		return -1;
	return stopwatch_stop(plan, &watch, "sample", t);
}

/* Steps 4 and 5. */
static int look_tail(struct plan *plan, struct trouble *t)
{
	struct stopwatch watch = stopwatch_start(plan->run);

	if (replay_tail(plan, t) < 0 || each_lane(plan, "sample", keys_extend, t) < 0 || ask_lanes(plan, t) < 0 ||
	    each_lane(plan, "sample", looks_last, t) < 0)
		return -1;
	return stopwatch_stop(plan, &watch, "tail", t);
}

/* Streams, which have nothing to do with Kafka. */
static int look_streams(struct plan *plan, struct trouble *t)
{
	const struct ingest_options *options = plan->options;
	struct stopwatch watch = stopwatch_start(plan->run);

	if (!options->config->stream_count)
		return 0;
	if (stream_look(plan->run, plan->db, options->config, options->timeout_ms, t) < 0)
		return -1;
	return stopwatch_stop(plan, &watch, "streams", t);
}

static int look(struct plan *plan, int64_t *sampled_us, struct trouble *t)
{
	if (look_replay(plan, t) < 0)
		return -1;
	if (plan->options->only_replay)
		return record_lanes(plan, NULL, t);
	if (look_sample(plan, sampled_us, t) < 0 || look_tail(plan, t) < 0)
		return -1;
	if (record_lanes(plan, sampled_us, t) < 0)
		return -1;
	return look_streams(plan, t);
}

int ingest_run(const struct run *run, sqlite3 *db, const struct ingest_options *options, struct trouble *t)
{
	struct plan plan = { .run = run, .db = db, .options = options };
	int64_t *sampled_us = xarray(options->config->pipeline_count, sizeof(*sampled_us));
	struct run_gap gap = { .stage = options->only_replay ? "replay" : "audit", .partition = UNKNOWN };
	struct trouble stopped = { 0 };
	int result = plan_make(&plan, t);

	if (result == 0)
		result = look(&plan, sampled_us, t);
	if (result < 0)
		db_rollback(db);
	plan_release(&plan);
	free(sampled_us);
	if (result < 0 || !run_stopped(run))
		return result < 0 ? -1 : 1;
	trouble_set(&stopped, "stopped early; what was indexed is kept, and the next run resumes there");
	return run_trouble(run, db, &gap, &stopped, t) < 0 ? -1 : 0;
}

/* The worker's command line, its loop, and its summary on stdout. What it does is told in worker.h. */
#include "worker.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

#define EXIT_FENCED 3

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

/* Options that are words of a closed list, before they are understood. */
struct words {
	const char *state, *tombstones, *rejects, *crash_after;
	int64_t crash_seed;
};

static void understand(struct worker *w, struct worker_options *o, const struct words *words)
{
	static const char *const states[] = { "opaque", "last", "count", "sum", NULL };
	static const char *const tombstones[] = { "apply", "ignore", "delete", NULL };
	static const char *const rejects[] = { "dlq", "silent", "none", NULL };
	static const char *const points[] = { "never", "partial", "redis", "produce", "commit", NULL };

	opts_need(o->common.brokers, "brokers");
	opts_need(o->common.topic, "topic");
	opts_need(o->common.group, "group");
	opts_need(o->common.redis, "redis");
	o->state = (enum state_kind)opts_choice("--state", words->state, states);
	o->tombstones = (enum tombstones)opts_choice("--tombstones", words->tombstones, tombstones);
	o->rejects = (enum rejects)opts_choice("--rejects",
					       words->rejects ? words->rejects
					       : o->dlq	      ? "dlq"
							      : "silent",
					       rejects);
	w->crash.point = (enum crash_point)opts_choice("--crash-after", words->crash_after, points);
	prng_seed(&w->crash.prng, (uint64_t)words->crash_seed);
	if (o->rejects == REJECTS_DLQ && !o->dlq)
		die_usage("--rejects dlq needs --dlq TOPIC");
	if (o->lossy && o->state != STATE_OPAQUE && o->state != STATE_LAST)
		die_usage("--lossy goes with --state opaque or last");
	if (o->batch < 1 || o->batch > 100000)
		die_usage("--batch must lie in [1,100000]");
}

static void options_read(struct worker *w, struct worker_options *o, int argc, char **argv)
{
	struct words words = { .state = "opaque", .tombstones = "apply", .crash_after = "never" };
	const struct opt opts[] = {
		COMMON_KAFKA_OPTS(&o->common),
		COMMON_STATE_OPTS(&o->common),
		{ "script", OPT_TEXT, &o->common.script, "directory of fence.lua and drop.lua" },
		{ "state", OPT_TEXT, &words.state, "opaque, last, count or sum" },
		{ "tombstones", OPT_TEXT, &words.tombstones, "apply, ignore or delete" },
		{ "rejects", OPT_TEXT, &words.rejects, "dlq, silent, or none (apply everything)" },
		{ "poison", OPT_FLAG, &o->poison, "reject values that start with \"poison\"" },
		{ "output", OPT_TEXT, &o->output, "output topic" },
		{ "dlq", OPT_TEXT, &o->dlq, "topic of the rejects" },
		{ "isolation", OPT_TEXT, &o->isolation, "read_committed or read_uncommitted" },
		{ "reset", OPT_TEXT, &o->reset, "where to begin without a commit: earliest, latest or error" },
		{ "ttl", OPT_INT, &o->ttl_ms, "milliseconds a state lives after it was applied" },
		{ "batch", OPT_INT, &o->batch, "records a batch, default 500" },
		{ "linger", OPT_INT, &o->linger_ms, "milliseconds a batch is collected, default 20" },
		{ "pause", OPT_INT, &o->pause_ms, "milliseconds to sleep after each batch" },
		{ "session", OPT_INT, &o->session_ms, "session timeout in milliseconds, default 6000" },
		{ "fixed-partitions", OPT_INT, &o->fixed_count, "believe in this partition count for ever" },
		{ "no-join", OPT_FLAG, &o->no_join, "take all partitions without joining the group" },
		{ "assign", OPT_TEXT, &o->assign, "with --no-join: these partitions, as 0,2,5" },
		{ "lossy", OPT_FLAG, &o->lossy, "apply a whole batch before its outputs are flushed" },
		{ "commit-first", OPT_FLAG, &o->commit_first, "commit before the writes, which loses a batch in a crash" },
		{ "until-end", OPT_FLAG, &o->until_end, "stop when all is read and committed" },
		{ "max-records", OPT_INT, &o->max_records, "stop after so many records" },
		{ "crash-after", OPT_TEXT, &words.crash_after, "partial, redis, produce or commit" },
		{ "crash-at", OPT_INT, &w->crash.at, "the how manieth time, default 1" },
		{ "crash-seed", OPT_INT, &words.crash_seed, "with --crash-prob: the seed" },
		{ "crash-prob", OPT_REAL, &w->crash.probability, "probability of a crash at each point passed" },
		OPTS_END,
	};

	opts_parse(opts, argc, argv, NULL);
	understand(w, o, &words);
}

/* A fenced partition must soon be taken away by the group; where it is not, someone else only raised the epoch. */
static bool is_fenced_out(struct worker *w)
{
	for (int32_t p = 0; p < w->room; p++) {
		if (!w->owned[p].mine || !w->owned[p].fenced)
			continue;
		if (!w->fenced_ms)
			w->fenced_ms = tick_ms();
		if (!w->opt->no_join && tick_ms() - w->fenced_ms < 2 * w->opt->session_ms)
			return false;
		warn("partition %d: fenced, another owner raised its epoch", p);
		return true;
	}
	w->fenced_ms = 0;
	return false;
}

/* One batch, if there is any; false when the work is done. */
static bool step(struct worker *w)
{
	member_collect(w);
	member_recount(w);
	if (!w->batched)
		return !w->opt->until_end || !member_at_end(w);
	if (w->opt->commit_first) {
		apply_nothing(w);
		member_commit(w);
		crash_pass(&w->crash, CRASH_COMMIT);
	}
	apply_batch(w);
	member_commit(w);
	crash_pass(&w->crash, CRASH_COMMIT);
	member_release(w);
	sleep_ms(w->opt->pause_ms);
	return !w->opt->max_records || w->tally.records < w->opt->max_records;
}

static void summary(const struct worker *w)
{
	const struct tally *t = &w->tally;
	struct buf b = { 0 };

	json_open(&b, NULL, '{');
	json_int(&b, "records", t->records);
	for (int v = 0; v <= VERDICT_DLQ; v++)
		json_int(&b, verdict_name((enum verdict)v), t->verdict[v]);
	json_int(&b, "null_keys", t->null_keys);
	json_int(&b, "tombstones", t->tombstones);
	json_int(&b, "ignored", t->ignored);
	json_int(&b, "poison", t->poison);
	json_int(&b, "outputs", t->outputs);
	json_int(&b, "batches", t->batches);
	json_int(&b, "rounds", t->rounds);
	json_int(&b, "commits", t->commits);
	json_int(&b, "partitions", w->count);
	json_close(&b, '}');
	json_print(&b);
	buf_release(&b);
}

int main(int argc, char **argv)
{
	struct worker_options o = {
		.isolation = "read_committed", .reset = "earliest", .batch = 500, .linger_ms = 20, .session_ms = 6000
	};
	struct worker w = { .opt = &o, .crash.at = 1 };
	int status = 0;

	common_init(&o.common);
	options_read(&w, &o, argc, argv);
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	w.redis = redis_open(o.common.redis);
	script_load(&w.fence, w.redis, &o.common, "fence.lua");
	script_load(&w.drop, w.redis, &o.common, "drop.lua");
	sink_open(&w.sink, NULL, &o.common);
	sink_meet(&w.sink, o.output);
	sink_meet(&w.sink, o.dlq);
	member_open(&w);
	while (!stop && step(&w)) {
		if (is_fenced_out(&w)) {
			status = EXIT_FENCED;
			break;
		}
	}
	summary(&w);
	member_release(&w);
	member_close(&w);
	sink_close(&w.sink);
	script_release(&w.fence);
	script_release(&w.drop);
	redisFree(w.redis);
	free(o.common.properties.item);
	return status;
}

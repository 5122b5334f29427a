/*
 * fencepost: did we lose anything? An offline verifier of fenced state in Redis against the history of a Kafka topic.
 *
 * main holds the commands, the order of the stages, signals and the exit status. It alone, with its parts options,
 * console and checklist, reads clock, environment and arguments, and writes to stderr.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/analyzer.h"
#include "checklist.h"
#include "console.h"
#include "ingest/config.h"
#include "ingest/ingest.h"
#include "options.h"
#include "reports/reports.h"
#include "sql/facts.h"
#include "sql/faultpoint.h"
#include "sql/index.h"
#include "sql/mem.h"
#include "sql/runlog.h"
#include "stories.h"

enum { EXIT_CLEAN = 0, EXIT_TROUBLE = 1, EXIT_FINDINGS = 2, EXIT_CONFIG = 64, EXIT_BUSY = 75 };
static atomic_int stop;

static void on_signal(int number)
{
	atomic_store(&stop, number);
}

static int64_t clock_us(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t wall_us(void *context)
{
	(void)context;
	return clock_us(CLOCK_REALTIME);
}

static int64_t tick_us(void *context)
{
	(void)context;
	return clock_us(CLOCK_MONOTONIC);
}

struct session {
	struct options *o;
	struct console *console;
	struct run run;
	struct config *config; /* NULL for commands that need none */
	struct index index;
	bool unpublished; /* what was established could not be told everywhere */
};

static const char *index_path(const struct session *s)
{
	return s->o->index ? s->o->index : s->config->index;
}

static void show_nothing(void *context, const struct check_text *check)
{
	(void)context, (void)check;
}

/* A mistake in --checks must not show after hours of replay. */
static int need_checks(const struct session *s, struct trouble *t)
{
	return s->o->checks ? analyzer_checks(s->o->checks, show_nothing, NULL, t) : 0;
}

/* Reads the config where the index has to be found through it. */
static int need_config(struct session *s, bool always, struct trouble *t)
{
	if (!always && s->o->index)
		return 0;
	return config_read(s->o->config, &s->o->overrides, &s->config, t);
}

static int open_index(struct session *s, bool write, struct trouble *t)
{
	enum index_open opened = write ? index_open_write(&s->run, index_path(s), s->o->wait_ms, &s->index, t)
				       : index_open_read(&s->run, index_path(s), &s->index, t);

	if (opened == INDEX_OPEN)
		return EXIT_CLEAN;
	return console_fail(s->console, opened == INDEX_BUSY ? EXIT_BUSY : EXIT_TROUBLE, t);
}

static int record_settings(struct session *s, struct trouble *t)
{
	const struct config *c = s->config;
	char numbers[5][24];
	const struct fact_setting rows[] = {
		{ s->run.id, "fail.on", severity_word(c->fail_on) },
		{ s->run.id, "sample.keys", numbers[0] },
		{ s->run.id, "max.findings", numbers[1] },
		{ s->run.id, "recent_ms", numbers[2] },
		{ s->run.id, "expect.empty", c->expect_empty ? "1" : "0" },
		{ s->run.id, "memory", numbers[3] },
		{ s->run.id, "keep.runs", numbers[4] },
	};

	snprintf(numbers[0], sizeof(numbers[0]), "%lld", (long long)c->sample_keys);
	snprintf(numbers[1], sizeof(numbers[1]), "%lld", (long long)c->max_findings);
	snprintf(numbers[2], sizeof(numbers[2]), "%lld", (long long)c->recent_ms);
	snprintf(numbers[3], sizeof(numbers[3]), "%lld", (long long)s->o->memory);
	snprintf(numbers[4], sizeof(numbers[4]), "%lld", (long long)c->keep_runs);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (fact_setting_add(s->index.db, &rows[i], NULL, t) < 0)
			return -1;
	return 0;
}

static int begin_run(struct session *s, struct trouble *t)
{
	const struct run_begin begin = {
		.command = s->o->command,
		.config = s->o->config,
		.config_sha256 = s->config->sha256,
		.since_us = s->o->since_us,
		.all_keys = s->o->all != 0,
	};

	if (run_begin(&s->run, s->index.db, &begin, &s->run.id, t) < 0)
		return -1;
	return record_settings(s, t);
}

/* 1 the whole order was gone through, 0 stopped early, -1. */
static int ingest(struct session *s, struct trouble *t)
{
	const struct ingest_options options = {
		.config = s->config,
		.handles = (int)s->o->handles,
		.timeout_ms = s->o->timeout_ms,
		.only_replay = strcmp(s->o->command, "replay") == 0,
		.all_keys = s->o->all != 0,
		.since_us = s->o->since_us,
	};
	int done = ingest_run(&s->run, s->index.db, &options, t);

	if (done > 0 && run_reached(&s->run, s->index.db, options.only_replay ? "replayed" : "sampled", true, t) < 0)
		return -1;
	return done;
}

/* Times its stages, fold and check, itself. */
static int check(struct session *s, struct trouble *t)
{
	const struct analyzer_options options = { .checks_dir = s->o->checks };

	return analyzer_check(&s->run, s->index.db, &options, t);
}

static int exit_of(const struct report_result *result)
{
	if (result->status == REPORT_FINDINGS)
		return EXIT_FINDINGS;
	return result->status == REPORT_CLEAN && result->complete ? EXIT_CLEAN : EXIT_TROUBLE;
}

/* Told once: what is written later is not lost by this failure. */
static int flush_stdout(struct trouble *t)
{
	if (!FAULT(STDOUT) && fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	trouble_set(t, "write to stdout: %s", strerror(errno));
	clearerr(stdout);
	return -1;
}

/* Findings stand in the index whatever becomes of the report: they are told, and win over the trouble. */
static int unpublished(struct session *s, int status, struct trouble *t)
{
	s->unpublished = true;
	return console_fail(s->console, status == EXIT_FINDINGS ? status : EXIT_TROUBLE, t);
}

/* The report directory, then the text: what is on stdout exists on disk, or stderr has said that it does not. */
static int publish(struct session *s, bool directory, struct trouble *t)
{
	char standard[64];
	struct report_result result;
	int status;

	snprintf(standard, sizeof(standard), "reports/%lld", (long long)s->run.id);
	if (reports_status(&s->run, s->index.db, &result, t) < 0)
		return console_fail(s->console, EXIT_TROUBLE, t);
	status = exit_of(&result);
	if (directory &&
	    (reports_write(&s->run, s->index.db, s->o->output ? s->o->output : standard, &result, t) < 0 ||
	     run_reached(&s->run, s->index.db, "reported", true, t) < 0 ||
	     (strcmp(s->o->command, "audit") == 0 && analyzer_prune(s->index.db, s->config->keep_runs, t) < 0)))
		status = unpublished(s, status, t);
	if (s->unpublished && status != EXIT_FINDINGS)
		return status;
	if (reports_print(&s->run, s->index.db, s->o->json, stdout, t) < 0 || flush_stdout(t) < 0)
		return unpublished(s, status, t);
	return status;
}

/* Metrics are written in every case, so that silence is never taken for health. */
static int write_metrics(struct session *s, int status)
{
	bool failed = s->unpublished || (status != EXIT_CLEAN && status != EXIT_FINDINGS);
	struct trouble t = { 0 }, before = { 0 };

	if (!s->o->metrics)
		return status;
	if (s->index.db && s->run.id) {
		if (reports_metrics(&s->run, s->index.db, failed, s->o->metrics, &before) == 0)
			return status;
		console_note(s->console, before.text);
		status = status == EXIT_CLEAN ? EXIT_TROUBLE : status;
	}
	if (reports_metrics_failed(&s->run, s->o->config, s->o->metrics, &t) == 0)
		return status;
	if (strcmp(t.text, before.text) != 0)
		console_note(s->console, t.text);
	return status == EXIT_CLEAN ? EXIT_TROUBLE : status;
}

/* Says how far it got, on both streams. */
static int say_stopped(struct session *s)
{
	struct trouble t = { 0 };

	if (s->run.id && reports_looked(&s->run, s->index.db, s->o->json, stdout, &t) < 0)
		console_note(s->console, t.text);
	if (atomic_load(&stop) == SIGALRM)
		console_note(s->console,
			     "the deadline has passed; what was indexed is kept, and the next run resumes there; "
			     "no report was written");
	else
		console_note(
			s->console,
			"interrupted; what was indexed is kept, and the next run resumes there; no report was written");
	return EXIT_TROUBLE;
}

static int run_stages(struct session *s, struct trouble *t)
{
	int done;

	if (begin_run(s, t) < 0)
		return console_fail(s->console, EXIT_TROUBLE, t);
	done = ingest(s, t);
	if (done < 0)
		return console_fail(s->console, EXIT_TROUBLE, t);
	if (done == 0)
		return say_stopped(s);
	if (strcmp(s->o->command, "audit") != 0) {
		done = reports_looked(&s->run, s->index.db, s->o->json, stdout, t);
		return done < 0 ? console_fail(s->console, EXIT_TROUBLE, t) : done ? EXIT_CLEAN : EXIT_TROUBLE;
	}
	if (check(s, t) < 0)
		return run_stopped(&s->run) ? say_stopped(s) : console_fail(s->console, EXIT_TROUBLE, t);
	return publish(s, true, t);
}

/* audit, replay, sample */
static int command_run(struct session *s)
{
	struct trouble t = { 0 };
	int status;

	if (need_config(s, true, &t) < 0 || need_checks(s, &t) < 0)
		return write_metrics(s, console_fail(s->console, EXIT_CONFIG, &t));
	status = open_index(s, true, &t);
	if (status == EXIT_CLEAN)
		status = run_stages(s, &t);
	return write_metrics(s, status);
}

/* The run that an argument names, or the newest that reached the stage. */
static int choose_run(struct session *s, const char *reached, struct trouble *t)
{
	char *end;
	int found;

	if (s->o->argument_count > 0) {
		s->run.id = strtoll(s->o->arguments[0], &end, 10);
		if (*end || s->run.id <= 0)
			return trouble_set(t, "%s: not the number of a run; fencepost runs lists them",
					   s->o->arguments[0]);
		found = run_has(s->index.db, s->run.id, reached, t);
		if (found == 0)
			trouble_set(t, "run %lld: no such run, or it was not %s", (long long)s->run.id, reached);
	} else {
		found = run_newest(s->index.db, reached, &s->run.id, t);
		if (found == 0)
			trouble_set(t, "no run in %s was %s yet", index_path(s), reached);
	}
	return found > 0 ? 0 : -1;
}

static int again(struct session *s)
{
	bool anew = strcmp(s->o->command, "check") == 0;
	struct trouble t = { 0 };
	int status;

	if (need_config(s, false, &t) < 0 || need_checks(s, &t) < 0)
		return console_fail(s->console, EXIT_CONFIG, &t);
	status = open_index(s, true, &t);
	if (status != EXIT_CLEAN)
		return status;
	if (choose_run(s, anew ? "sampled" : "checked", &t) < 0 || (anew && check(s, &t) < 0))
		return console_fail(s->console, EXIT_TROUBLE, &t);
	status = publish(s, !anew, &t);
	if (s->o->explain_rebases && stories_show(s->o, &s->run, s->index.db, &t) < 0)
		return console_fail(s->console, EXIT_TROUBLE, &t);
	return status;
}

/* check, report */
static int command_again(struct session *s)
{
	return write_metrics(s, again(s));
}

static int command_checks(struct session *s)
{
	struct trouble t = { 0 };

	if (checklist_show(s->o, &t) < 0)
		return console_fail(s->console, EXIT_CONFIG, &t);
	return EXIT_CLEAN;
}

/* runs, sql: read-only, also while an audit runs */
static int command_read(struct session *s)
{
	bool sql = strcmp(s->o->command, "sql") == 0;
	struct trouble t = { 0 };
	int status;

	if (sql && s->o->argument_count != 1) {
		trouble_set(&t, "sql takes one QUERY");
		return console_fail(s->console, EXIT_CONFIG, &t);
	}
	if (need_config(s, false, &t) < 0)
		return console_fail(s->console, EXIT_CONFIG, &t);
	status = open_index(s, false, &t);
	if (status != EXIT_CLEAN)
		return status;
	if ((sql ? reports_query(&s->run, s->index.db, s->o->arguments[0], s->o->json, stdout, &t)
		 : reports_runs(&s->run, s->index.db, s->o->json, stdout, &t)) < 0)
		return console_fail(s->console, EXIT_TROUBLE, &t);
	return EXIT_CLEAN;
}

static const struct {
	const char *name;
	int (*run)(struct session *);
	int arguments; /* at most */
} commands[] = {
	{ "audit", command_run, 0 },   { "replay", command_run, 0 },   { "sample", command_run, 0 },
	{ "check", command_again, 1 }, { "report", command_again, 1 }, { "checks", command_checks, 1 },
	{ "runs", command_read, 0 },   { "sql", command_read, 1 },
};

static int dispatch(struct session *s)
{
	struct trouble t = { 0 };

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (strcmp(commands[i].name, s->o->command) != 0)
			continue;
		if (s->o->argument_count <= commands[i].arguments)
			return commands[i].run(s);
		trouble_set(&t, "%s: unexpected argument %s", s->o->command, s->o->arguments[commands[i].arguments]);
		return console_fail(s->console, EXIT_CONFIG, &t);
	}
	trouble_set(&t, "%s: no such command; try fencepost --help", s->o->command);
	return console_fail(s->console, EXIT_CONFIG, &t);
}

static void watch_signals(const struct options *o)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct itimerval timer = { .it_value = { .tv_sec = o->deadline_ms / 1000,
						 .tv_usec = o->deadline_ms % 1000 * 1000 } };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes is an error like a full disk */
	if (o->deadline_ms)
		setitimer(ITIMER_REAL, &timer, NULL);
}

/* A failed write to stdout is trouble: what was meant to be read is not there. Findings are in the index. */
static int close_stdout(struct console *console, int status)
{
	struct trouble t = { 0 };
	bool bad = ferror(stdout) != 0 || FAULT(STDOUT);

	if (fclose(stdout) == 0 && !bad)
		return status;
	trouble_set(&t, "write to stdout: %s", strerror(errno));
	return console_fail(console, status == EXIT_FINDINGS ? status : EXIT_TROUBLE, &t);
}

/* Test builds: an armed fault that never fired leaves the test without proof. */
#ifdef FENCEPOST_FAULTS
enum { EXIT_FAULT_MISSED = 99 };

static int arm_faults(struct trouble *t)
{
	const char *words = getenv("FENCEPOST_FAULT");

	return words ? fault_arm(words, t) : 0;
}

static int count_faults(struct console *console, int status)
{
	struct trouble t = { 0 };
	bool should;
	int at = 0;

	while (fault_missed(&at, &should, &t)) {
		console_note(console, t.text);
		status = should ? EXIT_FAULT_MISSED : status;
	}
	return status;
}
#else
static int arm_faults(struct trouble *t)
{
	(void)t;
	return 0;
}

static int count_faults(struct console *console, int status)
{
	(void)console;
	return status;
}
#endif

/* Options have been read, or t says why not. */
static int run_program(struct console *console, struct options *o, bool readable, struct trouble *t)
{
	struct session s = { .o = o, .console = console, .index = { .lock = -1 } };
	int status;

	if (!readable)
		return console_fail(console, EXIT_CONFIG, t);
	if (o->version)
		puts("fencepost " FENCEPOST_VERSION);
	if (o->help || o->version)
		return close_stdout(console, EXIT_CLEAN);
	console->quiet = o->quiet;
	s.run = (struct run){ .wall_us = wall_us,
			      .tick_us = tick_us,
			      .progress = console_progress,
			      .note = console_note,
			      .stop = &stop,
			      .context = console,
			      .memory = (size_t)o->memory };
	watch_signals(o);
	status = dispatch(&s);
	index_close(&s.index);
	config_free(s.config);
	return count_faults(console, close_stdout(console, status));
}

int main(int argc, const char **argv)
{
	struct console console = { .lock = PTHREAD_MUTEX_INITIALIZER, .terminal = isatty(STDERR_FILENO) };
	struct trouble t = { 0 };
	struct options o = { 0 };
	bool readable = arm_faults(&t) == 0 && options_read(&o, argc, argv, wall_us(NULL), &t) == 0;
	int status;

	options_cover_secrets(&o, argc, argv);
	status = run_program(&console, &o, readable, &t);
	console_end_progress(&console);
	options_release(&o);
	return status;
}

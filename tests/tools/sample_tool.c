/*
 * sample_tool: looks at Redis as an audit does, without Kafka, for the tests of the sampler.
 *
 *     sample_tool CONFIG INDEX KEYS STEP...
 *
 * CONFIG is a config file; its first pipeline, with its first topic, is sampled into INDEX. KEYS holds the record keys,
 * one a line, in hex, after "r" where recent ("-": none). Steps, in order:
 *
 *     info  epochs=N  scan  ask  formats  catch-up=MS  pause (for a line on stdin)  add=KEYS (more record keys)
 *     limit=N  memory=BYTES  timeout=MS  rate=N  only-recent  rival=TEMPLATE       (before the first of the others)
 *
 * Prints one JSON object with the counts. Exit 1 with the trouble on stderr where a step fails.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ingest/sample.h"
#include "sql/db.h"
#include "sql/index.h"
#include "sql/keytext.h"
#include "sql/mem.h"

struct tool {
	struct run run;
	struct config *config;
	struct index index;
	struct writer *writer;
	struct sampler *sampler;
	struct keyset *keys;
	struct sample_subject subject;
	struct sample_counts counts;
	int64_t limit, memory, timeout_ms;
	bool only_recent;
	int64_t tried, hits[KEY_GUESSES];
	const char *replica;
	struct sample_rival rival;
};

static atomic_int stop;

static void on_signal(int number)
{
	stop = number;
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

static const char *env(void *context, const char *name)
{
	(void)context;
	return getenv(name);
}

static int add_keys(struct tool *tool, const char *path, struct trouble *t)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t room = 0, size;
	ssize_t length;

	if (!file)
		return trouble_set(t, "cannot read %s", path);
	while ((length = getline(&line, &room, file)) > 0) {
		bool recent = line[0] == 'r';
		char *key = xarray((size_t)length + 1, 1);

		length -= line[length - 1] == '\n';
		if (keyhex_read(line + recent, (size_t)length - recent, key, &size) == 0) {
			key_prefixes_note(keyset_prefixes(tool->keys), key, size);
			keyset_put(tool->keys, keyset_hash(key, size), key, (uint32_t)size, recent);
		}
		free(key);
	}
	free(line);
	fclose(file);
	return 0;
}

static int begin(struct tool *tool, const char *keys, struct trouble *t)
{
	tool->keys = keyset_new(tool->limit, (size_t)tool->memory, tool->only_recent);
	keyset_note_prefixes(tool->keys, tool->config->pipelines[0].key_format);
	if (strcmp(keys, "-") && add_keys(tool, keys, t) < 0)
		return -1;
	if (sampler_open(&tool->run, &tool->config->pipelines[0].redis, tool->timeout_ms, &tool->sampler, t) < 0)
		return -1;
	tool->writer = writer_start(&tool->run, tool->index.db);
	return 0;
}

static bool option(struct tool *tool, const char *step)
{
	const char *value = strchr(step, '=');
	int64_t number = value ? strtoll(value + 1, NULL, 10) : 0;

	if (!strncmp(step, "limit=", 6))
		tool->limit = number;
	else if (!strncmp(step, "memory=", 7))
		tool->memory = number;
	else if (!strncmp(step, "timeout=", 8))
		tool->timeout_ms = number;
	else if (!strncmp(step, "rate=", 5))
		tool->config->pipelines[0].redis.rate = number;
	else if (!strncmp(step, "rival=", 6))
		tool->rival = (struct sample_rival){ template_new(value + 1, NULL), KEY_FORMAT_RAW, "customers" };
	else if (!strcmp(step, "only-recent"))
		tool->only_recent = true;
	else
		return false;
	return true;
}

static int take_step(struct tool *tool, const char *step, struct trouble *t)
{
	const char *value = strchr(step, '=');
	int64_t number = value ? strtoll(value + 1, NULL, 10) : 0;
	const struct sample_subject *s = &tool->subject;

	if (!strcmp(step, "info"))
		return sampler_info(tool->sampler, tool->writer, t);
	if (!strncmp(step, "epochs=", 7))
		return sampler_epochs(tool->sampler, tool->writer, s->pipeline, s->topic_id, s->topic, (int32_t)number,
				      t);
	if (!strcmp(step, "scan"))
		return sampler_scan(tool->sampler, tool->writer, s, tool->keys, &tool->counts, t);
	if (!strcmp(step, "ask"))
		return sampler_ask(tool->sampler, tool->writer, s, tool->keys, &tool->counts, t);
	if (!strcmp(step, "formats"))
		return sampler_try_formats(tool->sampler, s, tool->keys, &tool->tried, tool->hits, t);
	if (!strncmp(step, "catch-up=", 9))
		return sampler_catch_up(tool->sampler, number, &tool->replica, t);
	if (!strncmp(step, "add=", 4))
		return add_keys(tool, value + 1, t);
	if (!strcmp(step, "pause")) {
		printf("paused\n");
		fflush(stdout);
		return getchar() == EOF ? trouble_set(t, "the pause found no end") : 0;
	}
	return trouble_set(t, "no such step: %s", step);
}

static void print_text(const char *name, const char *text)
{
	printf(", \"%s\": ", name);
	if (!text) {
		printf("null");
		return;
	}
	putchar('"');
	for (; *text; text++)
		printf(*text == '"' || *text == '\\' ? "\\%c"
		       : (unsigned char)*text < ' '  ? "\\u%04x"
						     : "%c",
		       (unsigned char)*text);
	putchar('"');
}

/* getrusage would tell of the process before exec, too. */
static int64_t peak_bytes(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long long kib = -1;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmHWM: %lld kB", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib * 1024;
}

static void print_counts(const struct tool *tool)
{
	const struct sample_counts *c = &tool->counts;

	printf("{\"scanned\": %" PRId64 ", \"unparsed\": %" PRId64 ", \"taken\": %" PRId64 ", \"asked\": %" PRId64
	       ", \"nameless\": %" PRId64 ", \"scan_complete\": %s",
	       c->scanned, c->unparsed, c->taken, c->asked, c->nameless, c->scan_complete ? "true" : "false");
	printf(", \"main_threshold\": %" PRId64 ", \"recent_threshold\": %" PRId64 ", \"main\": %" PRId64
	       ", \"recent\": %" PRId64,
	       keyset_main_threshold(tool->keys), keyset_recent_threshold(tool->keys), keyset_main_count(tool->keys),
	       keyset_recent_count(tool->keys));
	printf(", \"server_keys\": %" PRId64 ", \"tried\": %" PRId64, sampler_server_keys(tool->sampler), tool->tried);
	for (int f = 0; f < KEY_FORMAT_COUNT; f++)
		printf(", \"hits_%s\": %" PRId64, key_format_word((enum key_format)f), tool->hits[f]);
	printf(", \"peak\": %" PRId64, peak_bytes());
	print_text("scan_trouble", c->scan_trouble.text);
	print_text("replica", tool->replica);
	printf("}\n");
}

static int work(struct tool *tool, char **arguments, struct trouble *t)
{
	char **step = arguments + 1;
	int result;

	while (*step && option(tool, *step))
		step++;
	tool->subject.claims = &tool->rival;
	tool->subject.claim_count = tool->rival.key != NULL;
	result = begin(tool, arguments[0], t);
	for (; result == 0 && *step; step++)
		result = take_step(tool, *step, t);
	return result;
}

static int finish(struct tool *tool, int result, struct trouble *t)
{
	if (tool->writer && writer_stop(tool->writer, t) < 0)
		result = -1;
	if (tool->sampler)
		print_counts(tool);
	if (result < 0)
		fprintf(stderr, "sample_tool: %s\n", t->text);
	sampler_close(tool->sampler);
	keyset_free(tool->keys);
	template_free((struct key_template *)tool->rival.key);
	return result < 0 ? 1 : 0;
}

static int run_tool(struct tool *tool, char **arguments)
{
	struct config_overrides overrides = { .redis_auth = getenv("REDISCLI_AUTH"),
					      .redis_rate = UNKNOWN,
					      .env = env };
	struct trouble t = { "" };
	int status;

	if (config_read(arguments[1], &overrides, &tool->config, &t) < 0 ||
	    index_open_write(&tool->run, arguments[2], 0, &tool->index, &t) != INDEX_OPEN ||
	    db_script(tool->index.db, "PRAGMA foreign_keys = OFF", &t) < 0) {
		fprintf(stderr, "sample_tool: %s\n", t.text);
		config_free(tool->config);
		return 1;
	}
	tool->subject = (struct sample_subject){
		.pipeline = &tool->config->pipelines[0],
		.topic = tool->config->pipelines[0].topics[0],
		.topic_id = 1,
	};
	status = finish(tool, work(tool, arguments + 3, &t), &t);
	index_close(&tool->index);
	config_free(tool->config);
	return status;
}

int main(int argc, char **argv)
{
	struct tool tool = {
		.run = { .id = 1, .wall_us = wall_us, .tick_us = tick_us, .stop = &stop, .memory = 256 << 20 },
		.limit = 1000000,
		.memory = 256 << 20,
		.timeout_ms = 5000,
	};

	if (argc < 4) {
		fprintf(stderr, "usage: sample_tool CONFIG INDEX KEYS STEP...\n");
		return 64;
	}
	signal(SIGTERM, on_signal);
	signal(SIGPIPE, SIG_IGN);
	return run_tool(&tool, argv);
}

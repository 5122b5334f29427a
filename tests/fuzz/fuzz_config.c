/*
 * Broken configurations: lines moved, doubled and dropped, bytes changed, pieces of YAML put anywhere. The parser
 * must end with a config or with words, and lose no memory. A fixed number of rounds from a fixed seed; an argument
 * gives another number.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/config.h"
#include "sql/mem.h"

enum { ROUNDS = 20000, SIZE_LIMIT = 8192, CHANGES_MAX = 3 };

static const char original[] =
	"kafka: &k\n  bootstrap.servers: localhost:9092\n  sasl.password: ${SECRET}\n  enable.idempotence: yes\n"
	"redis:\n  url: redis://u:p%40@[::1]:6379/0?db=0\n  rate: 50000\n"
	"index: fencepost.db\nsample.keys: 1000000\nrecent: 1h30m\nmax.findings: 5\nfail.on: warning\nexpect.empty: "
	"no\n"
	"pipelines:\n  orders: &o\n    topic: [orders, '^more']\n    group: g\n    from: 2026-03-01T02:30:00.25+01:00\n"
	"    horizon: age:10m\n    isolation: read_committed\n    key: \"{{{topic}}}:{key}\"\n    key.format: int64\n"
	"    epoch: \"epoch:{topic}:{partition}\"\n    field.offset: o\n    field.partition: p\n    field.value: v\n "
	"   state: last\n"
	"    tombstones: delete\n    expires: 7d\n    dlq: orders-dlq\n    dlq.source: header:source\n    rejects: "
	"silent\n"
	"    partitions.before: [3, 6, 12]\n    copartitioned.with: [customers]\n    kafka: *k\n"
	"  other:\n    <<: *o\n    topic: x\n    from: {0: 5, 1: 6}\n    redis: {url: 'unix:///run/r?db=2', "
	"password: x}\n"
	"  third: {topic: y, group: g, redis: none, key: ~}\n"
	"streams:\n  mail: {key: mail, group: '*', idle: 10m, deliveries: 3, dlq: 'x', redis: {db: 1}}\n";

static const char *const pieces[] = { "{",
				      "}",
				      "[",
				      "]",
				      ": ",
				      "- ",
				      "&a ",
				      "*a",
				      "*o",
				      "*k",
				      "<<: *o\n",
				      "<<: ",
				      "!!str ",
				      "---\n",
				      "...\n",
				      "\t",
				      "\"",
				      "'",
				      "|\n",
				      ">\n",
				      "# ",
				      "${",
				      "${SECRET}",
				      "${NONE}",
				      "$${",
				      "\\",
				      "\\0",
				      "\xff",
				      "\xc3\xa9",
				      "\n",
				      "    ",
				      "none",
				      "~",
				      "0",
				      "-1",
				      "9223372036854775808",
				      "%40",
				      "{key}",
				      "{topic}",
				      "@",
				      "://",
				      "?db=1",
				      "file:/none/such",
				      "? ",
				      "[[[[[[[[[[[[[[[[[[[[" };

static const char *const values[] = { "",
				      "~",
				      "no",
				      "yes",
				      "0",
				      "7",
				      "-1",
				      "99999999999999999999",
				      "1h",
				      "0s",
				      "info",
				      "silent",
				      "dlq",
				      "count",
				      "committed",
				      "latest",
				      "beginning",
				      "2026-02-30T00:00:00Z",
				      "{0: 1}",
				      "{}",
				      "[]",
				      "[a, b]",
				      "[^a]",
				      "^a",
				      "'{key}'",
				      "'x:{key}'",
				      "'{topic}:{key}'",
				      "'e:{partition}'",
				      "'{topic}{partition}'",
				      "base64",
				      "json",
				      "redis://h",
				      "rediss://:p@h/1",
				      "'unix:///s'",
				      "'redis://a@h'",
				      "*k",
				      "*o",
				      "[6, 3]",
				      "[1, 2]",
				      "none",
				      "${SECRET}",
				      "file:/none/such",
				      "{url: 'redis://h'}",
				      "{url: 5}",
				      "header:x",
				      "value",
				      "o",
				      "p" };

static uint64_t seed = 0xda3e39cb94b95bdb;

static size_t next(size_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (size_t)((seed >> 11) % below);
}

static const char *env(void *context, const char *name)
{
	(void)context;
	return strcmp(name, "SECRET") ? NULL : "hunter2";
}

/* Puts bytes in place of text[at .. at + drop). */
static void replace(char *text, size_t *size, size_t at, size_t drop, const char *bytes)
{
	size_t length = strlen(bytes);

	if (*size - drop + length > SIZE_LIMIT)
		return;
	memmove(text + at + length, text + at + drop, *size - at - drop);
	memcpy(text + at, bytes, length);
	*size = *size - drop + length;
}

/* A line from somewhere, in place of nothing or of another line. */
static void move_line(char *text, size_t *size)
{
	char line[256];
	size_t from = next(*size), to = next(*size), length = 0, drop = 0;

	while (from && text[from - 1] != '\n')
		from--;
	while (to && text[to - 1] != '\n')
		to--;
	while (from + length < *size && length < sizeof(line) - 1 && (!length || text[from + length - 1] != '\n') &&
	       text[from + length])
		length++;
	memcpy(line, text + from, length);
	line[length] = 0;
	while (next(2) && to + drop < *size && text[to + drop] != '\n')
		drop++;
	replace(text, size, to, drop, line);
}

/* Another value behind a colon, up to the end of the line; or no line at all. */
static void change_value(char *text, size_t *size)
{
	size_t at = next(*size), drop = 0;

	while (at && text[at - 1] != '\n')
		at--;
	while (at + 2 < *size && memcmp(text + at, ": ", 2) && text[at] != '\n')
		at++;
	if (next(8))
		at = at + 2 < *size ? at + 2 : at;
	while (at + drop < *size && text[at + drop] != '\n')
		drop++;
	replace(text, size, at, drop, values[next(sizeof(values) / sizeof(values[0]))]);
}

static void change(char *text, size_t *size)
{
	size_t at = next(*size);

	switch (next(12)) {
	case 0:
		move_line(text, size);
		break;
	case 1:
		text[at] = (char)(next(16) ? ' ' + next(95) : next(256));
		break;
	case 2:
		replace(text, size, at, next(*size - at < 20 ? *size - at : 20), "");
		break;
	case 3:
		replace(text, size, at, next(2) ? 0 : next(*size - at < 8 ? *size - at : 8),
			pieces[next(sizeof(pieces) / sizeof(pieces[0]))]);
		break;
	default:
		change_value(text, size);
	}
}

/* Whether the bytes make a config. */
static bool passes(const char *text, size_t size)
{
	struct config_overrides overrides = { .redis_rate = UNKNOWN,
					      .env = env,
					      .redis_url = next(8) ? NULL : "redis://:x@c" };
	char *exact = xmemdup(text, size); /* so that a byte read beyond it is noticed */
	struct config_text file = { .path = "fencepost.yaml", .bytes = exact, .size = size };
	struct trouble t = { "" };
	struct config *config;
	int status = config_parse(&file, &overrides, &config, &t);

	if ((status < 0) != !config || (status < 0) != !!t.text[0] ||
	    (config && !config->pipeline_count && !config->stream_count)) {
		fprintf(stderr, "fuzz_config: status %d, words '%s':\n%.*s\n", status, t.text, (int)size, text);
		abort();
	}
	config_free(config);
	free(exact);
	return status == 0;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : ROUNDS, good = 0;
	char text[SIZE_LIMIT + 1];

	if (!passes(original, sizeof(original) - 1)) {
		fprintf(stderr, "fuzz_config: the original fails\n");
		return 1;
	}
	for (long i = 0; i < rounds; i++) {
		size_t size = sizeof(original) - 1, changes = 1 + next(CHANGES_MAX);

		memcpy(text, original, size);
		for (size_t c = 0; c < changes; c++)
			change(text, &size);
		good += passes(text, size);
	}
	printf("fuzz_config: %ld files, %ld passed\n", rounds, good);
	return 0;
}

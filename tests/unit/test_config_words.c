/*
 * What a configuration must not say, and in which words it is told so. Each row breaks one line of a config that
 * passes.
 */
#include "ingest/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sql/mem.h"

static const char intact[] =
	"kafka:\n"                                         /* 1 */
	"  bootstrap.servers: localhost:9092\n"            /* 2 */
	"redis:\n"                                         /* 3 */
	"  url: redis://localhost:6379/0\n"                /* 4 */
	"  rate: 50000\n"                                  /* 5 */
	"index: fencepost.db\n"                            /* 6 */
	"sample.keys: 1000000\n"                           /* 7 */
	"recent: 10m\n"                                    /* 8 */
	"fail.on: warning\n"                               /* 9 */
	"expect.empty: no\n"                               /* 10 */
	"pipelines:\n"                                     /* 11 */
	"  orders:\n"                                      /* 12 */
	"    topic: orders\n"                              /* 13 */
	"    group: orders-processor\n"                    /* 14 */
	"    from: beginning\n"                            /* 15 */
	"    horizon: committed\n"                         /* 16 */
	"    key: \"state:{key}\"\n"                       /* 17 */
	"    key.format: raw\n"                            /* 18 */
	"    epoch: \"epoch:{topic}:{partition}\"\n"       /* 19 */
	"    field.offset: offset\n"                       /* 20 */
	"    field.value: value\n"                         /* 21 */
	"    state: last\n"                                /* 22 */
	"    tombstones: apply\n"                          /* 23 */
	"    expires: no\n"                                /* 24 */
	"    dlq: orders-dlq\n"                            /* 25 */
	"    dlq.source: header:source\n"                  /* 26 */
	"    rejects: dlq\n"                               /* 27 */
	"    partitions.before: [3, 6]\n"                  /* 28 */
	"    copartitioned.with: [customers]\n"            /* 29 */
	"    kafka: {client.id: audit}\n"                  /* 30 */
	"streams:\n"                                       /* 31 */
	"  mail:\n"                                        /* 32 */
	"    idle: 10m\n"                                  /* 33 */
	"    deliveries: 3\n";                             /* 34 */

struct row {
	const char *find, *put, *words;
};

#define DURATIONS "a duration like 500ms, 90s, 10m, 36h, 7d or 1h30m"
#define TIMES "a time like 2026-03-01T02:30:00Z or 2026-03-01T02:30:00+01:00"
#define URLS                                                                                          \
	"valid: redis://[user:password@]host[:port][/db], rediss:// likewise, unix:///path[?db=n]; "  \
	"%40 for an @ in a password"
#define TOPICS "no topic's name; valid: at most 249 of a-z A-Z 0-9 . _ -"
#define TOP "valid: kafka, redis, index, sample.keys, pending.keys, recent, max.findings, keep.runs, fail.on, expect.empty, pipelines, streams"

static const struct row syntax[] = {
	{ "index:", "\tindex:",
	  ":6:1: while scanning a plain scalar: found a tab character that violates indentation" },
	{ "[customers]", "[customers", ":30:10: while parsing a flow sequence: did not find expected ',' or ']'" },
	{ "fencepost.db", "\"fencepost.db", ":17:11: while parsing a block mapping: did not find expected key" },
	{ "fencepost.db", "!!str fencepost.db", ":6: tags have no meaning here: tag:yaml.org,2002:str" },
	{ "fencepost.db", "*nothing", ":6: *nothing names nothing above" },
	{ "fencepost.db", "&me [*me]", ":6: *me stands inside what it names" },
	{ "fencepost.db", "\"a\\0b\"", ":6: a NUL character" },
	{ "fencepost.db", "[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]", ":6: nested more than 16 deep" },
	{ "streams:", "--- # next\nstreams:", ":31: a second document begins; one file holds one" },
	{ "recent:", "index:", ":8: key 'index' is given a second time; the first is in line 6" },
	{ "  mail:", "  mail: {}\n  mail:", ":33: key 'mail' is given a second time; the first is in line 32" },
	{ "recent:", "[recent]:", ":8: a key must be a plain text" },
	{ "    idle:", "    <<: 5\n    idle:", ":33: << merges mappings alone" },
	{ "recent:", "recnet:", ":8: unknown key 'recnet' at the top level; did you mean 'recent'? " TOP },
	{ "recent:", "sample:", ":8: unknown key 'sample' at the top level; " TOP },
	{ "  rate:", "  pasword: x\n  rate:",
	  ":5: unknown key 'pasword' in redis; did you mean 'password'? valid: url, user, password, db, rate, cluster.plan, "
	  "tls.ca, tls.cert, tls.key, tls.name" },
	{ "partitions.before", "partitons.before",
	  ":28: unknown key 'partitons.before' in pipeline orders; did you mean 'partitions.before'? valid: topic, "
	  "group, from, horizon, "
	  "isolation, key, key.format, key.part, epoch, field.offset, field.partition, field.value, state, tombstones, "
	  "expires, dlq, dlq.source, "
	  "rejects, partitions.before, partitioner, hot.share, copartitioned.with, kafka, redis" },
	{ "    idle:", "    ilde:",
	  ":33: unknown key 'ilde' in stream mail; did you mean 'idle'? valid: key, group, exclude, idle, "
	  "deliveries, dlq, lag.max, backlog.age.max, consumer.idle.max, length.max, redis" },
	{ "  orders:\n", "  orders: none\n  more:\n",
	  ":12: pipeline orders: must be a mapping, a 'key: value' a line" },
	{ "pipelines:\n", "pipelines: x\nignored:\n", ":12: unknown key 'ignored' at the top level; " TOP },
};

static const struct row values[] = {
	{ "fencepost.db", "[a]", ":6: index: a list; valid: path" },
	{ "fencepost.db", "", ":6: index: nothing; valid: path" },
	{ "fencepost.db", "\"a\\nb\"", ":6: index: a control character in the text" },
	{ "1000000", "1,000,000",
	  ":7: sample.keys: '1,000,000': valid: an integer in plain digits from 1 to 9223372036854775807" },
	{ "sample.keys: 1000000", "keep.runs: 1",
	  ":7: keep.runs: '1': valid: an integer in plain digits from 2 to 9223372036854775807" },
	{ "1000000", "1M", ":7: sample.keys: '1M': valid: an integer in plain digits from 1 to 9223372036854775807" },
	{ "1000000", "0", ":7: sample.keys: '0': valid: an integer in plain digits from 1 to 9223372036854775807" },
	{ "1000000", "010", ":7: sample.keys: '010': valid: an integer in plain digits from 1 to 9223372036854775807" },
	{ "1000000", "9223372036854775808",
	  ":7: sample.keys: '9223372036854775808': valid: an integer in plain digits from 1 to 9223372036854775807" },
	{ "rate: 50000", "tls.key: file:/run/k",
	  ":5: redis: tls.key: 'file:/run/k': valid: the path alone, without file:" },
	{ "rate: 50000", "tls.ca: [a]", ":5: redis: tls.ca: a list; valid: path" },
	{ "50000", "-1", ":5: redis: rate: '-1': valid: an integer in plain digits from 0 to 1000000000" },
	{ "recent: 10m", "recent: 10", ":8: recent: '10': valid: " DURATIONS },
	{ "recent: 10m", "recent: 10 min", ":8: recent: '10 min': valid: " DURATIONS },
	{ "recent: 10m", "recent: {a: b}", ":8: recent: a mapping; valid: duration" },
	{ "idle: 10m", "idle: 0s", ":33: stream mail: idle: '0s': valid: 1 ms to 106751991167 days" },
	{ "warning", "warn", ":9: fail.on: 'warn': valid: info, warning, error" },
	{ "empty: no", "empty: maybe", ":10: expect.empty: 'maybe': valid: yes, no" },
	{ "topic: orders", "topic: []",
	  ":13: pipeline orders: topic: an empty list; valid: name, list of names, or ^regex" },
	{ "topic: orders", "topic: a b",
	  ":13: pipeline orders: topic: 'a b': " TOPICS ", or ^ and a regular expression" },
	{ "topic: orders", "topic: [a, a]", ":13: pipeline orders: topic: 'a': listed twice" },
	{ "    topic: orders\n", "", ":12: pipeline orders: topic is missing: name, list of names, or ^regex" },
	{ "beginning", "latest",
	  ":15: pipeline orders: from: 'latest': where latest was when the group began, nobody can tell later; valid: "
	  "the time it began, like 2026-03-01T02:30:00Z, or {PARTITION: OFFSET}" },
	{ "beginning", "2026-03-01 02:30",
	  ":15: pipeline orders: from: '2026-03-01 02:30': valid: beginning, " TIMES ", or {PARTITION: OFFSET}" },
	{ "beginning", "{0: -1}",
	  ":15: pipeline orders: from: '-1': no offset; valid: {PARTITION: OFFSET}, both from 0" },
	{ "beginning", "{a: 1}",
	  ":15: pipeline orders: from: 'a': no partition; valid: {PARTITION: OFFSET}, both from 0" },
	{ "beginning", "{}", ":15: pipeline orders: from: an empty mapping; valid: {PARTITION: OFFSET, ...}" },
	{ "committed", "age:never",
	  ":16: pipeline orders: horizon: 'age:never': valid: committed, or age: and " DURATIONS },
	{ "state:{key}", "state:{kye}",
	  ":17: pipeline orders: key: 'state:{kye}': at character 7: a brace that begins no mark; valid: {key}, "
	  "{topic}, {partition}; {{ and }} for braces" },
	{ "format: raw", "format: utf8",
	  ":18: pipeline orders: key.format: 'utf8': valid: raw, int32, int64, int32-le, int64-le, "
	  "double, uuid, uuid-upper, hex, base64, json, line, confluent-avro-string, confluent-avro-long, "
	  "confluent-json, confluent-raw, confluent-protobuf-string, confluent-protobuf-long, glue-avro-string, "
	  "glue-avro-long, glue-json, glue-raw" },
	{ "state: last", "state: counter", ":22: pipeline orders: state: 'counter': valid: opaque, last, count, sum" },
	{ "tombstones: apply", "tombstones: skip",
	  ":23: pipeline orders: tombstones: 'skip': valid: apply, ignore, delete" },
	{ "expires: no", "expires: 5", ":24: pipeline orders: expires: '5': valid: no, or " DURATIONS },
	{ "expires: no", "expires: 0s", ":24: pipeline orders: expires: '0s': valid: no, or " DURATIONS },
	{ "dlq: orders-dlq", "dlq: ^dlq", ":25: pipeline orders: dlq: '^dlq': " TOPICS },
	{ "header:source", "source",
	  ":26: pipeline orders: dlq.source: 'source': valid: header:NAME, the header that holds "
	  "topic/partition/offset" },
	{ "[3, 6]", "[6, 3]",
	  ":28: pipeline orders: partitions.before: '3': not above the count before it; valid: the oldest first, "
	  "because "
	  "partitions are only ever added: [3, 6]" },
	{ "[3, 6]", "[0]",
	  ":28: pipeline orders: partitions.before: '0': valid: earlier partition counts, from 1, the oldest first: "
	  "[3, 6]" },
	{ "[3, 6]", "[3, 6]\n    partitioner: murmur3",
	  ":29: pipeline orders: partitioner: 'murmur3': valid: murmur2 crc32 fnv1a murmur2_unsigned murmur2_abs "
	  "murmur2_seed0_unsigned kafkajs_legacy crc32_abs crc32_mask fnv1a_mask fnv1a_unsigned java_string_mask "
	  "java_string_abs java_bytes_mask kafka_node_keyed debezium_java_string murmur3_mask murmur3_maxwell_abs "
	  "xxhash32 phash2 and, after a slash, a part of the key: whole windowed session window-store outer-join "
	  "foreign-key confluent confluent-guid glue characters" },
	{ "[3, 6]", "[3, 6]\n    hot.share: 1%",
	  ":29: pipeline orders: hot.share: '1%': valid: a percentage from 2% to 100%, like 20%, or none" },
	{ "[3, 6]", "[3, 6]\n    hot.share: 20",
	  ":29: pipeline orders: hot.share: '20': valid: a percentage from 2% to 100%, like 20%, or none" },
	{ "[customers]", "[^c]",
	  ":29: pipeline orders: copartitioned.with: '^c': no topic's name; valid: names alone" },
	{ "client.id: audit", "client.id: [a, b]",
	  ":30: pipeline orders: kafka: client.id: not one value; valid: text, a number, true or "
	  "false (several values are one text, separated by commas)" },
	{ "{client.id: audit}", "none",
	  ":30: pipeline orders: kafka: must be a mapping of librdkafka's properties, a 'name: value' a line" },
	{ "fencepost.db", "${UNSET}", ":6: environment variable UNSET is not set" },
	{ "fencepost.db", "${A B}",
	  ":6: '${' begins no ${NAME}; valid: letters, digits and _ between the braces, or $${ for a literal ${" },
};

static const struct row contradictions[] = {
	{ "    group: orders-processor\n", "",
	  ":15: pipeline orders: horizon: committed needs a group; valid: group: NAME, or horizon: age:10m "
	  "where the pipeline commits nothing" },
	{ "field.value: value", "field.value:",
	  ":22: pipeline orders: state: 'last' compares values, but field.value is empty; valid: state: "
	  "opaque, or field.value: NAME" },
	{ "field.value: value", "field.value: offset",
	  ":21: pipeline orders: field.value: 'offset' is the name of the fence's field" },
	{ "field.offset: offset", "field.offset: partition",
	  ":20: pipeline orders: field.offset and field.partition are both 'partition'" },
	{ "    dlq: orders-dlq\n", "",
	  ":26: pipeline orders: rejects: 'dlq' without a dlq; valid: dlq: TOPIC, or rejects: none or silent" },
	{ "    dlq: orders-dlq\n    dlq.source: header:source\n    rejects: dlq\n", "    dlq.source: header:x\n",
	  ":25: pipeline orders: dlq.source without a dlq; valid: dlq: TOPIC" },
	{ "dlq: orders-dlq", "dlq: orders", ":25: pipeline orders: dlq: 'orders' is a topic that the pipeline reads" },
	{ "[customers]", "[orders]", ":29: pipeline orders: copartitioned.with: 'orders' is the pipeline's own topic" },
	{ "state:{key}", "state",
	  ":17: pipeline orders: key: 'state' has no {key}; valid: a template like \"state:{key}\", where {{ and }} "
	  "are "
	  "literal braces" },
	{ "state:{key}", "{{key}}",
	  ":17: pipeline orders: key: '{{key}}' has no {key}; valid: a template like \"state:{key}\", where {{ and }} "
	  "are literal braces" },
	{ "\"epoch:{topic}:{partition}\"", "epoch",
	  ":19: pipeline orders: epoch: 'epoch' has no {partition}; valid: a template like "
	  "\"epoch:{topic}:{partition}\", or nothing" },
	{ "topic: orders", "topic: [a, b]",
	  ":17: pipeline orders: key: 'state:{key}' is the same for 2 topics; valid: a template with {topic}" },
	{ "topic: orders\n",
	  "topic: [a, b]\n    from: {0: 5}\n    key: \"{topic}:{key}\"\n    group: g\n  more:\n    topic: c\n",
	  ":14: pipeline orders: from: offsets are of one topic, and topic does not name one alone; valid: "
	  "beginning, " TIMES },
	{ "epoch:{topic}:{partition}", "state:{partition}",
	  ":12: the epochs of pipeline orders and the keys of pipeline orders are the same "
	  "keys state:* of localhost:6379/0" },
	{ "streams:\n", "  more:\n    topic: more\n    group: g\nstreams:\n",
	  ":31: pipelines orders and more keep their fences in the same "
	  "hashes state:* of localhost:6379/0; valid: templates that differ, or other names of fields" },
	{ "streams:\n", "  more:\n    topic: state\n    group: g\n    key: \"{topic}:{key}\"\nstreams:\n",
	  ":31: pipelines orders and more keep "
	  "their fences in the same hashes state:* of localhost:6379/0; valid: templates that differ, or other names "
	  "of fields" },
	{ "  bootstrap.servers: localhost:9092\n", "",
	  ":11: pipeline orders: no Kafka to read from; valid: kafka: with bootstrap.servers: "
	  "HOST:PORT, or -X bootstrap.servers=HOST:PORT" },
	{ "  url: redis://localhost:6379/0\n", "",
	  ":4: pipeline orders: redis has no url; valid: url: redis://HOST:PORT, or redis: none" },
	{ "redis:\n  url: redis://localhost:6379/0\n  rate: 50000\n", "",
	  ":14: pipeline orders: key describes fences, but no Redis is given; "
	  "valid: redis: with a url, or redis: none" },
	{ "redis:\n  url: redis://localhost:6379/0\n  rate: 50000\n", "redis: none\n",
	  ":30: stream mail: a stream needs Redis; valid: redis: "
	  "with a url" },
	{ "rate: 50000", "db: 1", ":4: redis: db is given twice, by itself and in url" },
	{ "rate: 50000", "db: 0\n  tls.name: r", ":4: redis: db is given twice, by itself and in url" },
	{ "redis://localhost:6379/0\n", "rediss://localhost\n  tls.name: r\n  tls.cert: c.pem\n",
	  ":6: redis: tls.cert without tls.key; valid: both, or neither" },
	{ "redis://localhost:6379/0\n", "rediss://localhost\n  tls.cert: ''\n  tls.key: c.key\n",
	  ":6: redis: tls.key without tls.cert; valid: both, or neither" },
	{ "rate: 50000", "tls.name:\n  tls.ca: ca.pem",
	  ":6: redis: tls.ca, but url is not rediss://; valid: url: rediss://HOST:PORT, or no tls.ca" },
	{ "    deliveries: 3\n", "    redis:\n      url: unix:///s\n      tls.name: r\n",
	  ":36: redis of stream mail: tls.name, but url is not rediss://; valid: url: rediss://HOST:PORT, or no "
	  "tls.name" },
	{ "    deliveries: 3\n", "    redis:\n      rate: 1\n      tls.key: k\n      tls.cert: c\n",
	  ":37: stream mail: tls.cert, but url is not rediss://; valid: url: rediss://HOST:PORT, or no tls.cert" },
	{ "redis:\n", "redis: localhost\nignored:\n", ":4: unknown key 'ignored' at the top level; " TOP },
};

/* Secrets stand in all of these, and in none of the words. */
static const struct row secrets[] = {
	{ "redis://localhost:6379/0", "http://u:hunter2@localhost", ":4: redis: url: an unknown scheme; " URLS },
	{ "redis://localhost:6379/0", "redis://hunter2@localhost",
	  ":4: redis: url: a user or a password stands before the @, and which one it is "
	  "the URL does not say: write user:password@ or :password@; " URLS },
	{ "redis://localhost:6379/0", "redis://:hunter2@localhost:port",
	  ":4: redis: url: the port is no number from 1 to 65535; " URLS },
	{ "redis://localhost:6379/0", "redis://:hunter2%zz@localhost",
	  ":4: redis: url: a bad %XX before the @; " URLS },
	{ "redis://localhost:6379/0", "redis://:hunter2/@localhost",
	  ":4: redis: url: a second @, or a slash before it: in a password write %40 and %2F; " URLS },
	{ "redis://localhost:6379/0", "redis://:hunt@hunter2@localhost",
	  ":4: redis: url: a second @, or a slash before it: in a password write "
	  "%40 and %2F; " URLS },
	{ "redis://localhost:6379/0", "redis://:hunter2@localhost/hunter2",
	  ":4: redis: url: the database is no number; " URLS },
	{ "redis://localhost:6379/0", "redis://:hunter2@", ":4: redis: url: no host; " URLS },
	{ "rate: 50000", "password: [hunter2]", ":5: redis: password: a list; valid: text or file:PATH" },
	{ "rate: 50000", "password: \"hunter2\\n\"", ":5: redis: password: a control character in the text" },
	{ "rate: 50000", "rate: ${SECRET}",
	  ":5: redis: rate: '${SECRET}': valid: an integer in plain digits from 0 to 1000000000" },
	{ "rate: 50000", "password: file:/none/such",
	  ":5: redis: password: cannot read /none/such: No such file or directory" },
	{ "client.id: audit", "sasl.password: file:/none/such",
	  ":30: pipeline orders: kafka: sasl.password: cannot read /none/such: No such file or directory" },
	{ "rate: 50000", "hunter2", ":6:1: while scanning a simple key: could not find expected ':'" },
};

static const char *env(void *context, const char *name)
{
	(void)context;
	return strcmp(name, "SECRET") ? NULL : "hunter2";
}

static int parse(const char *text, struct trouble *t)
{
	struct config_overrides overrides = { .redis_rate = UNKNOWN, .env = env };
	struct config_text file = { .path = "fencepost.yaml", .bytes = text, .size = strlen(text) };
	struct config *config;
	int status = config_parse(&file, &overrides, &config, t);

	assert_true(!config == (status < 0));
	config_free(config);
	return status;
}

static void assert_intact(void)
{
	struct trouble t = { "" };

	if (parse(intact, &t) < 0)
		fail_msg("the intact config fails: %s", t.text);
}

static void check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *at = strstr(intact, rows[i].find);
		struct trouble t = { "" };
		char *broken, *words = xprintf("fencepost.yaml%s", rows[i].words);

		assert_intact();
		if (!at || strstr(at + 1, rows[i].find))
			fail_msg("'%s' is not exactly once in the intact config", rows[i].find);
		broken = xprintf("%.*s%s%s", (int)(at - intact), intact, rows[i].put, at + strlen(rows[i].find));
		if (parse(broken, &t) == 0)
			fail_msg("'%s' for '%s' passes", rows[i].put, rows[i].find);
		assert_string_equal(t.text, words);
		assert_null(strstr(t.text, "hunter2"));
		free(broken);
		free(words);
	}
}

#define ROWS(table)                                               \
	static void test_##table(void **state)                    \
	{                                                         \
		(void)state;                                      \
		check_rows(table, sizeof(table) / sizeof(table[0])); \
	}

ROWS(syntax)
ROWS(values)
ROWS(contradictions)
ROWS(secrets)

static void test_no_document(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "", "fencepost.yaml: the file is empty" },
		{ "# nothing\n", "fencepost.yaml: the file is empty" },
		{ "text", "fencepost.yaml:1: must be a mapping, a 'key: value' a line" },
		{ "[]", "fencepost.yaml:1: must be a mapping, a 'key: value' a line" },
		{ "{}", "fencepost.yaml:1: nothing to look at; valid: pipelines: or streams: with at least one" },
		{ "pipelines: {}\nstreams:\n",
		  "fencepost.yaml:1: nothing to look at; valid: pipelines: or streams: with at least one" },
		{ "pipelines: []", "fencepost.yaml:1: pipelines: must be a mapping from names to pipelines" },
		{ "streams: 5", "fencepost.yaml:1: streams: must be a mapping from names to streams" },
		{ "pipelines: {\"\": {topic: a}}",
		  "fencepost.yaml:1: pipelines: a name is empty or has a control character" },
		{ "a: \xff", "fencepost.yaml: at byte 4: invalid leading UTF-8 octet" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct trouble t = { "" };

		assert_int_equal(parse(cases[i].text, &t), -1);
		assert_string_equal(t.text, cases[i].words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_syntax),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_contradictions),
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_no_document),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

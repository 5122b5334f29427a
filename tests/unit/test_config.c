/* What a configuration means: every value, every standard value, and what the command line and the environment add. */
#include "ingest/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sql/mem.h"

#define KAFKA "kafka: {bootstrap.servers: 'k:9092'}\n"
#define REDIS "redis: {url: 'redis://r'}\n"
#define SECOND INT64_C(1000000)

static const char *env(void *context, const char *name)
{
	(void)context;
	if (!strcmp(name, "HOST"))
		return "example";
	return strcmp(name, "EMPTY") ? NULL : "";
}

static struct config *parse_with(const char *text, const struct config_overrides *more)
{
	struct config_overrides overrides = { .redis_rate = UNKNOWN };
	struct config_text file = { .path = "etc/fencepost.yaml", .bytes = text, .size = strlen(text) };
	struct trouble t = { "" };
	struct config *config;

	if (more)
		overrides = *more;
	overrides.env = env;
	if (config_parse(&file, &overrides, &config, &t) < 0)
		fail_msg("%s", t.text);
	return config;
}

static struct config *parse(const char *text)
{
	return parse_with(text, NULL);
}

static const char *property(const struct pipeline_config *p, const char *name)
{
	for (size_t i = p->kafka.count; i-- > 0;) {
		if (!strcmp(p->kafka.items[i].name, name))
			return p->kafka.items[i].value;
	}
	return NULL;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

static void test_standards(void **state)
{
	struct config *c = parse(KAFKA REDIS "pipelines: {orders: {topic: o, group: g}}\nstreams: {mail: }\n");
	const struct pipeline_config *p = &c->pipelines[0];
	const struct stream_config *s = &c->streams[0];

	(void)state;
	assert_string_equal(c->path, "etc/fencepost.yaml");
	assert_string_equal(c->index, "etc/fencepost.db");
	assert_int_equal(c->sample_keys, 1000000);
	assert_int_equal(c->max_findings, 1000000);
	assert_int_equal(c->keep_runs, 2);
	assert_int_equal(c->recent_ms, 600000);
	assert_int_equal(c->fail_on, SEVERITY_WARNING);
	assert_false(c->expect_empty);
	assert_int_equal(c->pipeline_count, 1);
	assert_string_equal(p->name, "orders");
	assert_int_equal(p->line, 3);
	assert_int_equal(p->topic_count, 1);
	assert_string_equal(p->topics[0], "o");
	assert_string_equal(p->group, "g");
	assert_int_equal(p->from, FROM_BEGINNING);
	assert_int_equal(p->horizon, HORIZON_COMMITTED);
	assert_int_equal(p->isolation, ISOLATION_READ_COMMITTED);
	assert_true(p->has_redis);
	assert_string_equal(template_text(p->key), "state:{key}");
	assert_int_equal(p->key_format, KEY_FORMAT_RAW);
	assert_null(p->epoch);
	assert_string_equal(p->field_offset, "offset");
	assert_string_equal(p->field_partition, "partition");
	assert_string_equal(p->field_value, "value");
	assert_int_equal(p->state, STATE_OPAQUE);
	assert_int_equal(p->tombstones, TOMBSTONES_APPLY);
	assert_int_equal(p->expires_ms, UNKNOWN);
	assert_null(p->dlq);
	assert_string_equal(p->dlq_header, "source");
	assert_int_equal(p->rejects, REJECTS_NONE);
	assert_int_equal(p->partitions_before_count, 0);
	assert_int_equal(p->copartitioned_count, 0);
	assert_int_equal(p->redis.port, 6379);
	assert_int_equal(p->redis.rate, 50000);
	assert_string_equal(p->redis.address, "r:6379/0");
	assert_string_equal(s->key, "mail");
	assert_string_equal(s->group, "*");
	assert_int_equal(s->idle_ms, 600000);
	assert_int_equal(s->deliveries, 3);
	assert_null(s->dlq);
	assert_string_equal(s->redis.address, "r:6379/0");
	config_free(c);
}

static const char everything[] =
	KAFKA "redis: {url: 'rediss://r:7/3', rate: 0, user: u, password: 12345}\n"
	"index: /var/lib/fencepost.db\n"
	"sample.keys: 5\n"
	"recent: 0s\n"
	"max.findings: 7\n"
	"keep.runs: 9\n"
	"fail.on: error\n"
	"expect.empty: Yes\n"
	"pipelines:\n"
	"  p:\n"
	"    topic: ^b.*\n"
	"    from: 2026-03-01T02:30:00Z\n"
	"    horizon: age:1h30m\n"
	"    isolation: read_uncommitted\n"
	"    key: \"s:{key}\"\n"
	"    key.format: uuid\n"
	"    epoch: 'e:{topic}:{partition}'\n"
	"    field.offset: o\n"
	"    field.partition: p\n"
	"    field.value: \"\"\n"
	"    tombstones: delete\n"
	"    expires: 7d\n"
	"    dlq: d\n"
	"    dlq.source: header:from\n"
	"    rejects: silent\n"
	"    partitions.before: [3, 6, 12]\n"
	"    partitioner: crc32/windowed\n"
	"    copartitioned.with: [x, y]\n"
	"  q:\n"
	"    topic: [a, c]\n"
	"    group: g\n"
	"    key: \"{topic}:{key}\"\n"
	"    state: sum\n"
	"    partitions.before: 4\n"
	"    copartitioned.with: []\n"
	"    dlq: d\n"
	"  r: {topic: t, group: g, from: {3: 17, 0: 0}, redis: none, key: 'x{key}', state: count}\n"
	"streams:\n"
	"  mail: {key: inbox, group: 'm*', idle: 1s, deliveries: 9, dlq: 'mail:dlq', redis: {db: 5}}\n";

static void test_first_pipeline(const struct pipeline_config *p)
{
	assert_int_equal(p->from, FROM_TIME);
	assert_int_equal(p->from_us, 1772332200 * SECOND);
	assert_null(p->group);
	assert_int_equal(p->horizon, HORIZON_AGE);
	assert_int_equal(p->horizon_age_ms, 5400000);
	assert_int_equal(p->isolation, ISOLATION_READ_UNCOMMITTED);
	assert_int_equal(p->key_format, KEY_FORMAT_UUID);
	assert_string_equal(template_text(p->epoch), "e:{topic}:{partition}");
	assert_true(p->one_topic_only);
	assert_string_equal(p->field_offset, "o");
	assert_string_equal(p->field_partition, "p");
	assert_null(p->field_value);
	assert_int_equal(p->tombstones, TOMBSTONES_DELETE);
	assert_int_equal(p->expires_ms, 604800000);
	assert_string_equal(p->dlq, "d");
	assert_string_equal(p->dlq_header, "from");
	assert_int_equal(p->rejects, REJECTS_SILENT);
	assert_int_equal(p->partitions_before_count, 3);
	assert_int_equal(p->partitions_before[0], 12);
	assert_int_equal(p->partitions_before[2], 3);
	assert_ptr_equal(p->placer.partitioner, &partitioners[PARTITIONER_crc32]);
	assert_int_equal(p->placer.part, KEYPART_WINDOWED);
	assert_int_equal(p->copartitioned_count, 2);
	assert_string_equal(p->copartitioned[1], "y");
	assert_true(p->redis.tls);
	assert_int_equal(p->redis.rate, 0);
	assert_string_equal(p->redis.user, "u");
	assert_string_equal(p->redis.password, "12345");
	assert_string_equal(p->redis.address, "r:7/3");
}

static void test_values(void **state)
{
	struct config *c = parse(everything);
	const struct pipeline_config *q = &c->pipelines[1], *r = &c->pipelines[2];

	(void)state;
	assert_string_equal(c->index, "/var/lib/fencepost.db");
	assert_int_equal(c->sample_keys, 5);
	assert_int_equal(c->recent_ms, 0);
	assert_int_equal(c->max_findings, 7);
	assert_int_equal(c->keep_runs, 9);
	assert_int_equal(c->fail_on, SEVERITY_ERROR);
	assert_true(c->expect_empty);
	test_first_pipeline(&c->pipelines[0]);
	assert_int_equal(q->topic_count, 2);
	assert_string_equal(q->topics[1], "c");
	assert_false(q->one_topic_only);
	assert_int_equal(q->state, STATE_SUM);
	assert_int_equal(q->rejects, REJECTS_DLQ);
	assert_int_equal(q->partitions_before[0], 4);
	assert_ptr_equal(q->placer.partitioner, &partitioners[PARTITIONER_murmur2]);
	assert_int_equal(q->placer.part, KEYPART_WHOLE);
	assert_int_equal(q->copartitioned_count, 0);
	assert_int_equal(r->from, FROM_OFFSETS);
	assert_int_equal(r->from_offset_count, 2);
	assert_int_equal(r->from_offsets[0].partition, 3);
	assert_int_equal(r->from_offsets[0].offset, 17);
	assert_false(r->has_redis);
	assert_null(r->key);
	assert_string_equal(c->streams[0].key, "inbox");
	assert_string_equal(c->streams[0].group, "m*");
	assert_int_equal(c->streams[0].idle_ms, 1000);
	assert_int_equal(c->streams[0].deliveries, 9);
	assert_string_equal(c->streams[0].dlq, "mail:dlq");
	assert_string_equal(c->streams[0].redis.address, "r:7/5");
	config_free(c);
}

static void test_words(void **state)
{
	(void)state;
	assert_string_equal(severity_word(SEVERITY_INFO), "info");
	assert_string_equal(isolation_word(ISOLATION_READ_UNCOMMITTED), "read_uncommitted");
	assert_string_equal(state_word(STATE_SUM), "sum");
	assert_string_equal(tombstones_word(TOMBSTONES_DELETE), "delete");
	assert_string_equal(rejects_word(REJECTS_SILENT), "silent");
	assert_string_equal(from_word(FROM_OFFSETS), "offsets");
	assert_string_equal(horizon_word(HORIZON_AGE), "age");
	assert_string_equal(key_format_word(KEY_FORMAT_JSON), "json");
}

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} good[] = { { "10m", 600000 },
		     { "36h", 129600000 },
		     { "7d", 604800000 },
		     { "90s", 90000 },
		     { "500ms", 500 },
		     { "0s", 0 },
		     { "1h30m", 5400000 },
		     { "1d2h3m4s5ms", 93784005 },
		     { "106751991167d", INT64_C(9223372036828800000) } };
	static const char *const bad[] = { "",
					   "10",
					   "m",
					   "10 m",
					   "1.5h",
					   "-1m",
					   "10m5h",
					   "1m1m",
					   "1w",
					   "10M",
					   "1h30",
					   "106751991168d",
					   "99999999999999999999s",
					   "10m ",
					   "1h-1m" };
	int64_t ms;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(config_duration(good[i].text, &ms), 1);
		assert_int_equal(ms, good[i].ms);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(config_duration(bad[i], &ms), 0);
}

static void test_times(void **state)
{
	static const struct {
		const char *text;
		int64_t us;
	} good[] = {
		{ "1970-01-01T00:00:00Z", 0 },
		{ "2026-03-01T02:30:00Z", 1772332200 * SECOND },
		{ "2026-03-01T02:30:00+01:00", 1772328600 * SECOND },
		{ "2026-03-01 02:30:00-05:30", 1772352000 * SECOND },
		{ "2024-02-29t23:59:59.5z", 1709251199 * SECOND + 500000 },
		{ "2026-03-01T02:30:00.123456789Z", 1772332200 * SECOND + 123456 },
		{ "9999-12-31T23:59:59Z", 253402300799 * SECOND },
		{ "2000-02-29T00:00:00Z", 951782400 * SECOND },
	};
	static const char *const bad[] = { "",
					   "2026-03-01",
					   "2026-03-01T02:30:00",
					   "2026-03-01T02:30Z",
					   "2026-02-29T00:00:00Z",
					   "2100-02-29T00:00:00Z",
					   "2026-13-01T00:00:00Z",
					   "2026-00-01T00:00:00Z",
					   "2026-01-00T00:00:00Z",
					   "2026-01-01T24:00:00Z",
					   "2026-01-01T00:60:00Z",
					   "2026-01-01T00:00:60Z",
					   "2026-01-01T00:00:00.Z",
					   "2026-01-01T00:00:00+0100",
					   "2026-01-01T00:00:00+24:00",
					   "2026-01-01T00:00:00Z ",
					   "1969-12-31T23:59:59Z",
					   "1970-01-01T00:00:00+01:00",
					   "26-01-01T00:00:00Z" };
	int64_t us;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(config_time(good[i].text, &us), 1);
		assert_int_equal(us, good[i].us);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(config_time(bad[i], &us), 0);
}

/* --- kinds of configs --------------------------------------------------------------------------------------------- */

static void test_complete(void **state)
{
	struct config *c = parse(REDIS "streams: {mail: {}}\n");

	(void)state;
	assert_int_equal(c->pipeline_count, 0);
	assert_int_equal(c->stream_count, 1);
	config_free(c);
	c = parse(KAFKA "pipelines: {o: {topic: t, group: g}}\n");
	assert_false(c->pipelines[0].has_redis);
	config_free(c);
	c = parse(
		KAFKA
		"redis: none\npipelines: {o: {topic: t, group: g, key: 'state:{key}'}, p: {topic: t, group: g, "
		"redis: {url: 'redis://r'}}}\n");
	assert_false(c->pipelines[0].has_redis);
	assert_true(c->pipelines[1].has_redis);
	config_free(c);
}

/* A pipeline's own word about a cluster wins over the general one, also where it has no server of its own. */
static void test_cluster_plan(void **state)
{
	struct config *c = parse(KAFKA REDIS "pipelines: {o: {topic: t, group: g}}\n");

	(void)state;
	assert_false(c->pipelines[0].redis.cluster_plan);
	config_free(c);
	c = parse(KAFKA
		  "redis: {url: 'redis://r', cluster.plan: yes}\n"
		  "pipelines: {o: {topic: t, group: g}, p: {topic: u, group: g, key: 'p:{key}', "
		  "redis: {cluster.plan: no}}, q: {topic: v, group: g, redis: {url: 'redis://s'}}}\n");
	assert_true(c->pipelines[0].redis.cluster_plan);
	assert_false(c->pipelines[1].redis.cluster_plan);
	assert_true(c->pipelines[2].redis.cluster_plan);
	config_free(c);
}

/* Pipelines may share a topic, and hashes if their fields differ; templates may overlap. */
static void test_no_overlap(void **state)
{
	static const char *const pairs[] = {
		"pipelines: {a: {topic: t, group: g}, b: {topic: u, group: g, key: 'state:b:{key}'}}\n",
		"pipelines: {a: {topic: t, group: g}, b: {topic: t, group: h, field.offset: o2, field.partition: "
		"p2}}\n",
		"pipelines: {a: {topic: t, group: g}, b: {topic: u, group: g, redis: {db: 1}}}\n",
		"pipelines: {a: {topic: t, group: g}, b: {topic: u, group: g, redis: {url: 'redis://r:6380'}}}\n",
		"pipelines: {a: {topic: t, group: g, key: '{topic}:{key}'}, b: {topic: [u, v], group: g, key: "
		"'{topic}:{key}'}}\n",
		"pipelines: {a: {topic: ^t, group: g, key: '{topic}:{key}'}, b: {topic: ^u, group: g, key: "
		"'{topic}:{key}'}}\n",
		"pipelines: {a: {topic: t, group: g, key: 's:{key}', epoch: 's:e:{partition}'}}\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		char *text = xprintf(KAFKA REDIS "%s", pairs[i]);

		config_free(parse(text));
		free(text);
	}
}

static void test_anchors(void **state)
{
	struct config *c = parse(
		KAFKA REDIS "pipelines:\n  a: &a\n    topic: ta\n    group: g\n    state: last\n    key: 'a:{key}'\n"
			    "  b:\n    topic: tb\n    <<: *a\n    key: 'b:{key}'\n    field.value: &v val\n"
			    "  c: {<<: [*a], topic: tc, field.value: *v, key: 'c:{key}'}\n");

	(void)state;
	assert_string_equal(c->pipelines[1].topics[0], "tb");
	assert_string_equal(c->pipelines[1].group, "g");
	assert_int_equal(c->pipelines[1].state, STATE_LAST);
	assert_string_equal(template_text(c->pipelines[1].key), "b:{key}");
	assert_string_equal(c->pipelines[2].field_value, "val");
	config_free(c);
}

static void test_environment(void **state)
{
	struct config *c =
		parse("kafka: {bootstrap.servers: '${HOST}:9092,$HOST,$${HOST},$', client.id: '${EMPTY}'}\n"
		      "redis: {url: 'redis://${HOST}'}\npipelines: {o: {topic: t, group: g, epoch: '${EMPTY}'}}\n");

	(void)state;
	assert_string_equal(property(&c->pipelines[0], "bootstrap.servers"), "example:9092,$HOST,${HOST},$");
	assert_string_equal(property(&c->pipelines[0], "client.id"), "");
	assert_string_equal(c->pipelines[0].redis.host, "example");
	assert_null(c->pipelines[0].epoch);
	config_free(c);
}

static void test_digests(void **state)
{
	static const char *const changed[] = { "key: 's:{key}'",  "key.format: hex",	"epoch: 'e{partition}'",
					       "field.offset: o", "field.partition: p", "field.value: ~",
					       "redis: {db: 1}" };
	struct config *c = parse(KAFKA REDIS "pipelines: {o: {topic: t, group: g}}\n");
	struct config *same = parse(KAFKA "redis: {url: 'rediss://r', tls.ca: ca, tls.name: n}\n"
					  "pipelines: {o: {topic: u, group: h, state: last}}\n");

	(void)state;
	assert_int_equal(strlen(c->sha256), 64);
	assert_string_not_equal(c->sha256, same->sha256);
	assert_string_equal(c->pipelines[0].mapping_sha256, same->pipelines[0].mapping_sha256);
	for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
		char *text = xprintf(KAFKA REDIS "pipelines: {o: {topic: t, group: g, %s}}\n", changed[i]);
		struct config *other = parse(text);

		assert_string_not_equal(c->pipelines[0].mapping_sha256, other->pipelines[0].mapping_sha256);
		config_free(other);
		free(text);
	}
	config_free(c);
	config_free(same);
}

/* --- docs/config.md ----------------------------------------------------------------------------------------------- */

/* The page has one row a key, in the parser's order, with its type and standard value. */
static void test_page(void **state)
{
	FILE *file = fopen("docs/config.md", "r");
	struct config_key key;
	char line[1024];
	size_t i = 0;

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char *row;

		if (strncmp(line, "| ", 2) || !strncmp(line, "| section", 9) || !config_key_at(i, &key))
			continue;
		row = xprintf(key.literal ? "| %s | `%s` | %s | `%s` | " : "| %s | `%s` | %s | %s | ", key.section,
			      key.key, key.type, key.standard);
		if (strncmp(line, row, strlen(row)))
			fail_msg("docs/config.md has:\n%sand the parser:\n%s", line, row);
		assert_true(strlen(line) > strlen(row) + 10);
		free(row);
		i++;
	}
	fclose(file);
	if (config_key_at(i, &key))
		fail_msg("docs/config.md lacks %s of %s", key.key, key.section);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_standards),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_complete),
		cmocka_unit_test(test_cluster_plan),
		cmocka_unit_test(test_no_overlap),
		cmocka_unit_test(test_anchors),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_digests),
		cmocka_unit_test(test_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * config_pipeline: the section of one pipeline, value by value. What its values may not say together is in
 * config_finish.c.
 */
#include "ingest/config_read.h"

#include <stdlib.h>
#include <string.h>

#include "sql/mem.h"

#define AT(member) .offset = offsetof(struct pipeline_draft, member)
#define WORD(name, word) word,

static const char *const isolation_words[] = { ISOLATIONS(WORD) NULL };
static const char *const state_words[] = { STATES(WORD) NULL };
static const char *const tombstones_words[] = { TOMBSTONE_RULES(WORD) NULL };
static const char *const rejects_words[] = { REJECT_RULES(WORD) NULL };
#define FORMAT_WORD(name, word, prefix, what) word,
static const char *const key_format_words[] = { KEY_FORMATS(FORMAT_WORD) NULL };

/* The first of enum keypart: those that others than producers go by. */
static const char *const key_part_words[] = { "whole", "windowed", "session", NULL };

/* --- from, horizon, expires --------------------------------------------------------------------------------------- */

static int read_from_offsets(const struct reader *r, const struct rule *rule, const struct node *map,
			     struct pipeline_config *p)
{
	if (!map->count)
		return reader_bad(r, map->line, "%s: an empty mapping; valid: {PARTITION: OFFSET, ...}", rule->key);
	p->from = FROM_OFFSETS;
	p->from_offsets = xarray(map->count, sizeof(*p->from_offsets));
	for (size_t i = 0; i < map->count; i++) {
		const struct node_entry *entry = &map->entries[i];
		int64_t partition, offset;

		if (!parse_number(entry->key->text, &partition) || partition < 0 || partition > INT32_MAX)
			return reader_bad_value(r, rule, entry->key,
						"no partition; valid: {PARTITION: OFFSET}, both from 0");
		if (entry->value->kind != NODE_TEXT || !parse_number(entry->value->text, &offset) || offset < 0)
			return reader_bad_value(r, rule, entry->value,
						"no offset; valid: {PARTITION: OFFSET}, both from 0");
		p->from_offsets[p->from_offset_count++] = (struct from_offset){ (int32_t)partition, offset };
	}
	return 0;
}

static int read_from(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	struct pipeline_config *p = &((struct pipeline_draft *)into)->p;

	if (value->kind == NODE_MAP)
		return read_from_offsets(r, rule, value, p);
	if (!value_text(r, rule, value))
		return -1;
	if (!strcmp(value->text, "beginning")) {
		p->from = FROM_BEGINNING;
		return 0;
	}
	if (!strcmp(value->text, "latest"))
		return reader_bad_value(
			r, rule, value,
			"where latest was when the group began, nobody can tell later; valid: the time it began, "
			"like 2026-03-01T02:30:00Z, or {PARTITION: OFFSET}");
	if (!config_time(value->text, &p->from_us))
		return reader_bad_value(r, rule, value,
					"valid: beginning, " CONFIG_TIME_WORDS ", or {PARTITION: OFFSET}");
	p->from = FROM_TIME;
	return 0;
}

static int read_horizon(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	struct pipeline_config *p = &((struct pipeline_draft *)into)->p;

	if (!value_text(r, rule, value))
		return -1;
	if (!strcmp(value->text, "committed")) {
		p->horizon = HORIZON_COMMITTED;
		return 0;
	}
	if (strncmp(value->text, "age:", 4) || !config_duration(value->text + 4, &p->horizon_age_ms) ||
	    !p->horizon_age_ms)
		return reader_bad_value(r, rule, value, "valid: committed, or age: and " CONFIG_DURATION_WORDS);
	p->horizon = HORIZON_AGE;
	return 0;
}

static int read_expires(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	struct pipeline_config *p = &((struct pipeline_draft *)into)->p;
	static const char *const no[] = { "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF" };

	if (!value_text(r, rule, value))
		return -1;
	p->expires_ms = UNKNOWN;
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		if (!strcmp(value->text, no[i]))
			return 0;
	}
	if (config_duration(value->text, &p->expires_ms) && p->expires_ms)
		return 0;
	return reader_bad_value(r, rule, value, "valid: no, or " CONFIG_DURATION_WORDS);
}

/* --- dlq, partitions, key formats --------------------------------------------------------------------------------- */

static int read_dlq(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	struct pipeline_config *p = &((struct pipeline_draft *)into)->p;

	if (read_text_or_none(r, rule, value, into) < 0)
		return -1;
	if (p->dlq && !topic_name_valid(p->dlq))
		return reader_bad_value(r, rule, value, "no topic's name; valid: at most 249 of a-z A-Z 0-9 . _ -");
	return 0;
}

static int read_dlq_source(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	struct pipeline_config *p = &((struct pipeline_draft *)into)->p;

	if (!value_text(r, rule, value))
		return -1;
	if (strncmp(value->text, "header:", 7) || !value->text[7])
		return reader_bad_value(r, rule, value,
					"valid: header:NAME, the header that holds topic/partition/offset");
	free(p->dlq_header);
	p->dlq_header = xstrdup(value->text + 7);
	return 0;
}

/* Adds the next count of the list, which history made larger and larger. */
static int add_count(const struct reader *r, const struct rule *rule, const struct node *value,
		     struct pipeline_config *p)
{
	int64_t count;

	if (value->kind != NODE_TEXT || !parse_number(value->text, &count) || count < 1 || count > INT32_MAX)
		return reader_bad_value(r, rule, value,
					"valid: earlier partition counts, from 1, the oldest first: [3, 6]");
	if (p->partitions_before_count && count <= p->partitions_before[0])
		return reader_bad_value(
			r, rule, value,
			"not above the count before it; valid: the oldest first, because partitions are only "
			"ever added: [3, 6]");
	p->partitions_before =
		xgrow(p->partitions_before, p->partitions_before_count + 1, sizeof(*p->partitions_before));
	memmove(p->partitions_before + 1, p->partitions_before,
		p->partitions_before_count++ * sizeof(*p->partitions_before));
	p->partitions_before[0] = (int32_t)count;
	return 0;
}

static int read_partitions_before(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	struct pipeline_config *p = &((struct pipeline_draft *)into)->p;

	if (value->kind != NODE_LIST)
		return add_count(r, rule, value, p);
	for (size_t i = 0; i < value->count; i++) {
		if (add_count(r, rule, value->items[i], p) < 0)
			return -1;
	}
	return 0;
}

static int read_partitioner(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	struct pipeline_config *p = &((struct pipeline_draft *)into)->p;

	if (!value_text(r, rule, value))
		return -1;
	if (placer_parse(value->text, &p->placer))
		return 0;
	return reader_bad_value(r, rule, value, "valid: " PLACER_WORDS);
}

/* "20%", "2.5%" -> thousandths. */
static bool parse_share(const char *text, int64_t *thousandths)
{
	char *end;
	long whole = strtol(text, &end, 10), tenth = 0;

	if (*text < '0' || *text > '9' || end - text > 3)
		return false;
	if (*end == '.' && end[1] >= '0' && end[1] <= '9') {
		tenth = end[1] - '0';
		end += 2;
	}
	*thousandths = whole * 10 + tenth;
	return strcmp(end, "%") == 0 && *thousandths >= 20 && *thousandths <= 1000;
}

static int read_hot_share(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	struct pipeline_config *p = &((struct pipeline_draft *)into)->p;

	p->hot_share = UNKNOWN;
	if (!value_text(r, rule, value))
		return -1;
	if (!strcmp(value->text, "none") || parse_share(value->text, &p->hot_share))
		return 0;
	return reader_bad_value(r, rule, value, "valid: a percentage from 2% to 100%, like 20%, or none");
}

static int read_copartitioned(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	struct names *names = &((struct pipeline_draft *)into)->copartitioned;

	if (value->kind == NODE_LIST && !value->count)
		return 0;
	if (read_topics(r, rule, value, into) < 0)
		return -1;
	for (size_t i = 0; i < names->count; i++) {
		if (names->items[i][0] == '^')
			return reader_bad_value(r, rule, value->kind == NODE_LIST ? value->items[i] : value,
						"no topic's name; valid: names alone");
	}
	return 0;
}

static const struct rule rules[] = {
	{ .key = "topic", .read = read_topics, AT(topics), .type = "name, list of names, or ^regex", .required = true },
	{ .key = "group", .read = read_text_or_none, AT(p.group), .type = "text", .otherwise = "none" },
	{ .key = "from", .read = read_from, .type = "beginning, time, or {partition: offset}",
	  .standard = "beginning" },
	{ .key = "horizon", .read = read_horizon, .type = "committed, or age:DURATION", .standard = "committed" },
	{ .key = "isolation", .read = read_word, AT(p.isolation), .type = "read_committed, read_uncommitted",
	  .standard = "read_committed", .words = isolation_words },
	{ .key = "key", .read = read_template, AT(p.key), .type = "template with {key}", .standard = "state:{key}" },
	{ .key = "key.format", .read = read_word, AT(p.key_format),
	  .type = "raw, int32, int64, int32-le, int64-le, double, uuid, uuid-upper, hex, base64, json, line, "
		  "confluent-avro-string, confluent-avro-long, confluent-json, confluent-raw, "
		  "confluent-protobuf-string, confluent-protobuf-long, glue-avro-string, glue-avro-long, glue-json, "
		  "glue-raw", .standard = "raw", .words = key_format_words },
	{ .key = "key.part", .read = read_word, AT(p.key_part), .type = "whole, windowed, session", .standard = "whole",
	  .words = key_part_words },
	{ .key = "epoch", .read = read_template, AT(p.epoch), .type = "template with {partition}",
	  .otherwise = "none" },
	{ .key = "field.offset", .read = read_text, AT(p.field_offset), .type = "text", .standard = "offset" },
	{ .key = "field.partition", .read = read_text, AT(p.field_partition), .type = "text", .standard = "partition" },
	{ .key = "field.value", .read = read_text_or_none, AT(p.field_value), .type = "text", .standard = "value" },
	{ .key = "state", .read = read_word, AT(p.state), .type = "opaque, last, count, sum", .standard = "opaque",
	  .words = state_words },
	{ .key = "tombstones", .read = read_word, AT(p.tombstones), .type = "apply, ignore, delete",
	  .standard = "apply", .words = tombstones_words },
	{ .key = "expires", .read = read_expires, .type = "no, or duration", .standard = "no" },
	{ .key = "dlq", .read = read_dlq, AT(p.dlq), .type = "topic", .otherwise = "none" },
	{ .key = "dlq.source", .read = read_dlq_source, .type = "header:NAME", .standard = "header:source" },
	{ .key = "rejects", .read = read_word, AT(p.rejects), .type = "none, dlq, silent",
	  .otherwise = "dlq where dlq is given, else none", .words = rejects_words },
	{ .key = "partitions.before", .read = read_partitions_before, .type = "list of integers", .otherwise = "none" },
	{ .key = "partitioner", .read = read_partitioner, .type = "partitioner, or partitioner/part of the key",
	  .standard = "murmur2" },
	{ .key = "hot.share", .read = read_hot_share, .type = "percentage, or none", .standard = "20%" },
	{ .key = "copartitioned.with", .read = read_copartitioned, AT(copartitioned), .type = "list of topics",
	  .otherwise = "none" },
	{ .key = "kafka", .read = read_kafka, AT(p.kafka), .type = "mapping", .otherwise = "none" },
	{ .key = "redis", .read = read_redis, AT(redis), .type = "mapping, or none", .otherwise = "the general one" },
};

const struct section config_pipeline_section = { "pipelines", rules, sizeof(rules) / sizeof(rules[0]) };

static int read_pipeline(const struct reader *r, const struct node_entry *entry, struct pipeline_draft *pipeline)
{
	const struct node *key = entry->key;
	struct reader inside = *r;
	char *where;
	int status;

	*pipeline = (struct pipeline_draft){
		.p.name = xstrdup(key->text),
		.p.line = key->line,
		.p.expires_ms = UNKNOWN,
		.p.hot_share = 200,
		.p.placer.partitioner = &partitioners[PARTITIONER_murmur2],
	};
	pipeline->node = entry->value;
	redis_part_free(&pipeline->redis);
	for (const char *c = key->text; *c || c == key->text; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return reader_bad(r, key->line, "pipelines: a name is empty or has a control character");
	}
	where = xprintf("pipeline %.100s", key->text);
	inside.where = where;
	status = section_read(&inside, &config_pipeline_section, entry->value, key->line, pipeline);
	free(where);
	return status;
}

int read_pipelines(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	struct draft *draft = into;

	if (value->kind == NODE_NULL)
		return 0;
	if (value->kind != NODE_MAP)
		return reader_bad(r, value->line, "%s: must be a mapping from names to pipelines", rule->key);
	for (size_t i = 0; i < value->count; i++) {
		draft->pipelines = xgrow(draft->pipelines, draft->pipeline_count + 1, sizeof(*draft->pipelines));
		if (read_pipeline(r, &value->entries[i], &draft->pipelines[draft->pipeline_count++]) < 0)
			return -1;
	}
	return 0;
}

void pipeline_config_free(struct pipeline_config *p)
{
	for (size_t i = 0; i < p->topic_count; i++)
		free(p->topics[i]);
	for (size_t i = 0; i < p->copartitioned_count; i++)
		free(p->copartitioned[i]);
	free(p->topics);
	free(p->copartitioned);
	free(p->name);
	free(p->group);
	free(p->from_offsets);
	redis_config_free(&p->redis);
	template_free(p->key);
	template_free(p->epoch);
	free(p->field_offset);
	free(p->field_partition);
	free(p->field_value);
	free(p->dlq);
	free(p->dlq_header);
	free(p->partitions_before);
	properties_free(&p->kafka);
}

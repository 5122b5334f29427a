/* config_finish: what the values of a pipeline may not say together, and what follows from them. */
#include "ingest/config_read.h"

#include <stdlib.h>
#include <string.h>

#include "ingest/config_digest.h"
#include "sql/mem.h"

/* Where a key stands; the pipeline's line where it does not. */
static int line_of(const struct pipeline_draft *d, const char *key)
{
	const struct node *value = node_find(d->node, key);

	return value ? value->line : d->p.line;
}

/* --- topics and templates ----------------------------------------------------------------------------------------- */

static bool has_regex(const struct names *topics)
{
	for (size_t i = 0; i < topics->count; i++) {
		if (topics->items[i][0] == '^')
			return true;
	}
	return false;
}

/* A template of several topics must tell them apart. */
static int check_topic_mark(const struct reader *r, struct pipeline_draft *d, const char *key,
			    const struct key_template *template)
{
	if (!template || template_has_topic(template))
		return 0;
	if (d->topics.count > 1)
		return reader_bad(r, line_of(d, key),
				  "%s: '%s' is the same for %zu topics; valid: a template with {topic}", key,
				  template_text(template), d->topics.count);
	if (has_regex(&d->topics))
		d->p.one_topic_only = true;
	return 0;
}

static int check_templates(const struct reader *r, struct pipeline_draft *d)
{
	struct pipeline_config *p = &d->p;

	if (!p->key || !template_has_key(p->key))
		return reader_bad(r, line_of(d, "key"),
				  "key: '%s' has no {key}; valid: a template like \"state:{key}\", where {{ and }} are "
				  "literal braces",
				  p->key ? template_text(p->key) : "");
	if (p->epoch && !template_has_partition(p->epoch))
		return reader_bad(r, line_of(d, "epoch"), "epoch: '%s' has no {partition}; valid: a template like "
				  "\"epoch:{topic}:{partition}\", or nothing", template_text(p->epoch));
	if (check_topic_mark(r, d, "key", p->key) < 0)
		return -1;
	return check_topic_mark(r, d, "epoch", p->epoch);
}

static int check_from(const struct reader *r, const struct pipeline_draft *d)
{
	if (d->p.from == FROM_OFFSETS && (d->topics.count > 1 || has_regex(&d->topics)))
		return reader_bad(
			r, line_of(d, "from"),
			"from: offsets are of one topic, and topic does not name one alone; valid: beginning, "
			CONFIG_TIME_WORDS);
	return 0;
}

/* --- fields, group, dlq ------------------------------------------------------------------------------------------- */

static int check_fields(const struct reader *r, const struct pipeline_draft *d)
{
	const struct pipeline_config *p = &d->p;
	const char *key = node_find(d->node, "field.partition") ? "field.partition" : "field.offset";

	if (!strcmp(p->field_offset, p->field_partition))
		return reader_bad(r, line_of(d, key), "field.offset and field.partition are both '%s'",
				  p->field_offset);
	if (p->field_value && (!strcmp(p->field_value, p->field_offset) || !strcmp(p->field_value, p->field_partition)))
		return reader_bad(r, line_of(d, "field.value"), "field.value: '%s' is the name of the fence's field",
				  p->field_value);
	if (p->state != STATE_OPAQUE && !p->field_value)
		return reader_bad(r, line_of(d, "state"),
				  "state: '%s' compares values, but field.value is empty; valid: state: opaque, or "
				  "field.value: NAME",
				  state_word(p->state));
	return 0;
}

static int check_group(const struct reader *r, const struct pipeline_draft *d)
{
	if (d->p.horizon == HORIZON_COMMITTED && !d->p.group)
		return reader_bad(r, line_of(d, "horizon"),
				  "horizon: committed needs a group; valid: group: NAME, or horizon: age:10m where "
				  "the pipeline commits nothing");
	return 0;
}

static int check_dlq(const struct reader *r, struct pipeline_draft *d)
{
	struct pipeline_config *p = &d->p;

	if (!node_find(d->node, "rejects"))
		p->rejects = p->dlq ? REJECTS_DLQ : REJECTS_NONE;
	if (p->rejects == REJECTS_DLQ && !p->dlq)
		return reader_bad(r, line_of(d, "rejects"),
				  "rejects: 'dlq' without a dlq; valid: dlq: TOPIC, or rejects: none or silent");
	if (!p->dlq && node_find(d->node, "dlq.source"))
		return reader_bad(r, line_of(d, "dlq.source"), "dlq.source without a dlq; valid: dlq: TOPIC");
	if (p->dlq && names_have(&d->topics, p->dlq))
		return reader_bad(r, line_of(d, "dlq"), "dlq: '%s' is a topic that the pipeline reads", p->dlq);
	for (size_t i = 0; i < d->copartitioned.count; i++) {
		if (names_have(&d->topics, d->copartitioned.items[i]))
			return reader_bad(r, line_of(d, "copartitioned.with"),
					  "copartitioned.with: '%s' is the pipeline's own topic",
					  d->copartitioned.items[i]);
	}
	return 0;
}

/* --- redis and kafka ---------------------------------------------------------------------------------------------- */

/* Who says where fences are, and not in which Redis, would get an audit that looks at none. */
static int check_no_redis(const struct reader *r, const struct draft *draft, const struct pipeline_draft *d)
{
	static const char *const keys[] = { "key",	   "key.format", "epoch",  "field.offset", "field.partition",
					    "field.value", "state",	 "expires" };

	if (draft->redis.none || d->redis.none)
		return 0;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (node_find(d->node, keys[i]))
			return reader_bad(r, line_of(d, keys[i]),
					  "%s describes fences, but no Redis is given; valid: redis: with a url, or "
					  "redis: none",
					  keys[i]);
	}
	return 0;
}

static int finish_redis(const struct reader *r, const struct draft *draft, struct pipeline_draft *d)
{
	struct pipeline_config *p = &d->p;
	int found = redis_resolve(r, &draft->redis, &d->redis, &draft->cli, &p->redis);

	if (found < 0)
		return -1;
	p->has_redis = found;
	if (found)
		return check_templates(r, d) < 0 ? -1 : check_fields(r, d);
	template_free(p->key);
	template_free(p->epoch);
	p->key = p->epoch = NULL;
	return check_no_redis(r, draft, d);
}

static int finish_kafka(const struct reader *r, const struct draft *draft, struct pipeline_draft *d)
{
	static const char *const brokers[] = { "bootstrap.servers", "metadata.broker.list", "test.mock.num.brokers" };
	struct properties own = d->p.kafka;

	d->p.kafka = (struct properties){ 0 };
	properties_append(&d->p.kafka, &draft->kafka);
	properties_append(&d->p.kafka, &own);
	properties_free(&own);
	if (properties_override(&d->p.kafka, r) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(brokers) / sizeof(brokers[0]); i++) {
		if (properties_get(&d->p.kafka, brokers[i]))
			return 0;
	}
	return reader_bad(
		r, d->p.line,
		"no Kafka to read from; valid: kafka: with bootstrap.servers: HOST:PORT, or -X "
		"bootstrap.servers=HOST:PORT");
}

static void hash_mapping(struct pipeline_config *p)
{
	const char *parts[] = { p->has_redis ? p->redis.address : NULL,
				p->key ? template_text(p->key) : NULL,
				key_format_word(p->key_format),
				keypart_word(p->key_part),
				p->epoch ? template_text(p->epoch) : NULL,
				p->field_offset,
				p->field_partition,
				p->field_value };

	digest_texts(parts, sizeof(parts) / sizeof(parts[0]), p->mapping_sha256);
}

static int check_part(const struct reader *r, const struct pipeline_draft *d)
{
	if (d->p.key_part == KEYPART_WHOLE || d->p.placer.part == KEYPART_WHOLE)
		return 0;
	return reader_bad(r, line_of(d, "partitioner"),
			  "partitioner: '%s/%s': key.part: %s has taken a part of the key already; valid: partitioner: %s",
			  d->p.placer.partitioner->name, keypart_word(d->p.placer.part), keypart_word(d->p.key_part),
			  d->p.placer.partitioner->name);
}

static int finish(const struct reader *r, const struct draft *draft, struct pipeline_draft *d)
{
	if (finish_redis(r, draft, d) < 0 || check_group(r, d) < 0 || check_from(r, d) < 0 || check_dlq(r, d) < 0 ||
	    check_part(r, d) < 0)
		return -1;
	if (!d->p.dlq_header)
		d->p.dlq_header = xstrdup("source");
	hash_mapping(&d->p);
	return finish_kafka(r, draft, d);
}

int pipeline_finish(const struct reader *r, const struct draft *draft, struct pipeline_draft *pipeline)
{
	struct reader inside = *r;
	char *where = xprintf("pipeline %.100s", pipeline->p.name);
	int status;

	inside.where = where;
	status = finish(&inside, draft, pipeline);
	free(where);
	return status;
}

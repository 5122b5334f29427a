/* config_stream: the section streams. */
#include "ingest/config_read.h"

#include <stdlib.h>
#include <string.h>

#include "sql/mem.h"

#define AT(member) .offset = offsetof(struct stream_draft, member)

static int add_glob(const struct reader *r, const struct rule *rule, const struct node *value, struct names *names)
{
	const char *text = value_text(r, rule, value);

	if (!text)
		return -1;
	if (names_have(names, text))
		return reader_bad_value(r, rule, value, "listed twice");
	names->items = xgrow(names->items, names->count + 1, sizeof(*names->items));
	names->items[names->count++] = xstrdup(text);
	return 0;
}

/* A list of names and globs, or one, into a struct names. */
static int read_globs(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	struct names *names = rule_member(rule, into);

	names_free(names);
	if (value->kind != NODE_LIST)
		return add_glob(r, rule, value, names);
	for (size_t i = 0; i < value->count; i++) {
		if (add_glob(r, rule, value->items[i], names) < 0)
			return -1;
	}
	return 0;
}

static const struct rule rules[] = {
	{ .key = "key", .read = read_text, AT(s.key), .type = "name or glob", .otherwise = "the stream's name" },
	{ .key = "group", .read = read_text, AT(s.group), .type = "name or glob", .standard = "*" },
	{ .key = "exclude", .read = read_globs, AT(excluded), .type = "name or glob, or list of them",
	  .otherwise = "none" },
	{ .key = "idle", .read = read_duration, AT(s.idle_ms), .type = "duration", .standard = "10m", .least = 1,
	  .most = INT64_MAX },
	{ .key = "deliveries", .read = read_number, AT(s.deliveries), .type = "integer", .standard = "3", .least = 1,
	  .most = INT32_MAX },
	{ .key = "dlq", .read = read_text_or_none, AT(s.dlq), .type = "text", .otherwise = "none" },
	{ .key = "lag.max", .read = read_number, AT(s.lag_max), .type = "integer", .otherwise = "none",
	  .most = INT64_MAX },
	{ .key = "backlog.age.max", .read = read_duration, AT(s.backlog_age_max_ms), .type = "duration",
	  .otherwise = "none", .most = INT64_MAX },
	{ .key = "consumer.idle.max", .read = read_duration, AT(s.consumer_idle_max_ms), .type = "duration",
	  .otherwise = "none", .most = INT64_MAX },
	{ .key = "length.max", .read = read_number, AT(s.length_max), .type = "integer", .otherwise = "none",
	  .most = INT64_MAX },
	{ .key = "redis", .read = read_redis, AT(redis), .type = "mapping", .otherwise = "the general one" },
};

const struct section config_stream_section = { "streams", rules, sizeof(rules) / sizeof(rules[0]) };

static int read_stream(const struct reader *r, const struct node_entry *entry, struct stream_draft *stream)
{
	struct reader inside = *r;
	char *where = xprintf("stream %.100s", entry->key->text);
	int status;

	*stream = (struct stream_draft){
		.s.name = xstrdup(entry->key->text),
		.s.line = entry->key->line,
		.s.lag_max = UNKNOWN,
		.s.backlog_age_max_ms = UNKNOWN,
		.s.consumer_idle_max_ms = UNKNOWN,
		.s.length_max = UNKNOWN,
	};
	redis_part_free(&stream->redis);
	inside.where = where;
	status = section_read(&inside, &config_stream_section, entry->value, entry->key->line, stream);
	if (!stream->s.key)
		stream->s.key = xstrdup(stream->s.name);
	free(where);
	return status;
}

int read_streams(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	struct draft *draft = into;

	if (value->kind == NODE_NULL)
		return 0;
	if (value->kind != NODE_MAP)
		return reader_bad(r, value->line, "%s: must be a mapping from names to streams", rule->key);
	for (size_t i = 0; i < value->count; i++) {
		draft->streams = xgrow(draft->streams, draft->stream_count + 1, sizeof(*draft->streams));
		if (read_stream(r, &value->entries[i], &draft->streams[draft->stream_count++]) < 0)
			return -1;
	}
	return 0;
}

int stream_finish(const struct reader *r, const struct draft *draft, struct stream_draft *stream)
{
	struct reader inside = *r;
	char *where = xprintf("stream %.100s", stream->s.name);
	int status;

	inside.where = where;
	status = redis_resolve(&inside, &draft->redis, &stream->redis, &draft->cli, &stream->s.redis);
	if (!status)
		status = reader_bad(&inside, stream->s.line, "a stream needs Redis; valid: redis: with a url");
	free(where);
	return status < 0 ? -1 : 0;
}

void stream_config_free(struct stream_config *s)
{
	free(s->name);
	free(s->key);
	free(s->group);
	free(s->dlq);
	for (size_t i = 0; i < s->excluded_count; i++)
		free(s->excluded[i]);
	free(s->excluded);
	redis_config_free(&s->redis);
}

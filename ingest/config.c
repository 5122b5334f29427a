/* config: the whole file, top down: bytes, tree, environment, sections, what follows from them, contradictions. */
#include "ingest/config.h"

#include <stdlib.h>
#include <string.h>

#include "ingest/config_digest.h"
#include "ingest/config_read.h"
#include "sql/mem.h"

enum { FILE_MAX = 1 << 20 };

#define AT(member) .offset = offsetof(struct draft, member)
#define WORD(name, word) word,

static const char *const severity_words[] = { SEVERITIES(WORD) NULL };

static const struct rule rules[] = {
	{ .key = "kafka", .read = read_kafka, AT(kafka), .type = "mapping", .otherwise = "none" },
	{ .key = "redis", .read = read_redis, AT(redis), .type = "mapping, or none", .otherwise = "none" },
	{ .key = "index", .read = read_text, AT(c.index), .type = "path", .standard = "fencepost.db" },
	{ .key = "sample.keys", .read = read_number, AT(c.sample_keys), .type = "integer", .standard = "1000000",
	  .least = 1, .most = INT64_MAX },
	{ .key = "pending.keys", .read = read_number, AT(c.pending_keys), .type = "integer", .standard = "1000000",
	  .least = 1, .most = INT64_MAX },
	{ .key = "recent", .read = read_duration, AT(c.recent_ms), .type = "duration", .standard = "10m",
	  .most = INT64_MAX / 1000 },
	{ .key = "max.findings", .read = read_number, AT(c.max_findings), .type = "integer", .standard = "1000000",
	  .least = 1, .most = INT64_MAX },
	{ .key = "keep.runs", .read = read_number, AT(c.keep_runs), .type = "integer", .standard = "2", .least = 2,
	  .most = INT64_MAX },
	{ .key = "fail.on", .read = read_word, AT(c.fail_on), .type = "info, warning, error", .standard = "warning",
	  .words = severity_words },
	{ .key = "expect.empty", .read = read_switch, AT(c.expect_empty), .type = "yes, no", .standard = "no" },
	{ .key = "pipelines", .read = read_pipelines, .type = "mapping from names", .otherwise = "none" },
	{ .key = "streams", .read = read_streams, .type = "mapping from names", .otherwise = "none" },
};

const struct section config_top_section = { "top level", rules, sizeof(rules) / sizeof(rules[0]) };

#define WORD_FUNCTION(function, type, LIST)                          \
	const char *function(type value)                             \
	{                                                            \
		static const char *const words[] = { LIST(WORD) };   \
                                                                     \
		return words[value];                                 \
	}

WORD_FUNCTION(severity_word, enum severity, SEVERITIES)
WORD_FUNCTION(isolation_word, enum isolation, ISOLATIONS)
WORD_FUNCTION(state_word, enum state_kind, STATES)
WORD_FUNCTION(tombstones_word, enum tombstones, TOMBSTONE_RULES)
WORD_FUNCTION(rejects_word, enum rejects, REJECT_RULES)
WORD_FUNCTION(from_word, enum from_kind, FROM_KINDS)
WORD_FUNCTION(horizon_word, enum horizon_kind, HORIZON_KINDS)

/* --- from a draft to a config ------------------------------------------------------------------------------------- */

static char *relative(const struct reader *r, char *path)
{
	char *full = path_from_file(r, path);

	free(path);
	return full;
}

static int read_cli_url(const struct reader *r, struct draft *draft)
{
	if (!r->overrides->redis_url)
		return 0;
	return redis_url_parse(r->overrides->redis_url, &draft->cli, r->t) < 0 ? trouble_wrap(r->t, "-u") : 0;
}

/* From a draft whose sections are read to one that is whole and free of contradictions. */
static int finish(const struct reader *r, struct draft *draft)
{
	if (!draft->pipeline_count && !draft->stream_count)
		return reader_bad(r, 1, "nothing to look at; valid: pipelines: or streams: with at least one");
	if (read_cli_url(r, draft) < 0)
		return -1;
	for (size_t i = 0; i < draft->pipeline_count; i++) {
		if (pipeline_finish(r, draft, &draft->pipelines[i]) < 0)
			return -1;
	}
	for (size_t i = 0; i < draft->stream_count; i++) {
		if (stream_finish(r, draft, &draft->streams[i]) < 0)
			return -1;
	}
	return config_refuse_overlaps(r, draft);
}

/* Moves what the drafts of pipelines and streams hold into the config; frees the rest of the draft. */
static struct config *deliver(struct draft *draft)
{
	struct config *config = xmemdup(&draft->c, sizeof(draft->c));

	config->pipelines = xarray(draft->pipeline_count, sizeof(*config->pipelines));
	for (size_t i = 0; i < draft->pipeline_count; i++) {
		struct pipeline_draft *d = &draft->pipelines[i];

		d->p.topics = d->topics.items;
		d->p.topic_count = d->topics.count;
		d->p.copartitioned = d->copartitioned.items;
		d->p.copartitioned_count = d->copartitioned.count;
		redis_part_free(&d->redis);
		config->pipelines[config->pipeline_count++] = d->p;
	}
	config->streams = xarray(draft->stream_count, sizeof(*config->streams));
	for (size_t i = 0; i < draft->stream_count; i++) {
		struct stream_draft *d = &draft->streams[i];

		d->s.excluded = d->excluded.items;
		d->s.excluded_count = d->excluded.count;
		redis_part_free(&d->redis);
		config->streams[config->stream_count++] = d->s;
	}
	free(draft->pipelines);
	free(draft->streams);
	properties_free(&draft->kafka);
	redis_part_free(&draft->redis);
	redis_url_free(&draft->cli);
	return config;
}

static int parse(const struct reader *r, const struct config_text *text, struct draft *draft)
{
	struct tree *tree = tree_parse(text->path, text->bytes, text->size, r->t);
	int status = tree ? reader_expand(r, tree) : -1;

	if (!status)
		status = section_read(r, &config_top_section, tree->root, tree->root->line, draft);
	if (!status)
		status = finish(r, draft);
	tree_free(tree);
	return status;
}

int config_parse(const struct config_text *text, const struct config_overrides *overrides, struct config **config,
		 struct trouble *t)
{
	static const struct config_overrides none = { .redis_rate = UNKNOWN };
	const char *slash = strrchr(text->path, '/');
	char *folder = xprintf("%.*s", slash ? (int)(slash - text->path) + 1 : 0, text->path);
	struct trouble unheard;
	struct reader r = {
		.name = text->path, .folder = folder, .overrides = overrides ? overrides : &none, .t = t ? t : &unheard
	};
	struct draft draft = { .c.path = xstrdup(text->path) };
	int status;

	redis_part_free(&draft.redis);
	redis_url_free(&draft.cli);
	status = parse(&r, text, &draft);
	*config = deliver(&draft);
	if (status < 0) {
		config_free(*config);
		*config = NULL;
	} else {
		(*config)->index = relative(&r, (*config)->index);
		digest_bytes(text->bytes, text->size, (*config)->sha256);
	}
	free(folder);
	return status;
}

int config_read(const char *path, const struct config_overrides *overrides, struct config **config, struct trouble *t)
{
	struct config_text text = { .path = path };
	char *bytes = read_whole_file(path, FILE_MAX, &text.size, t);
	int status;

	*config = NULL;
	if (!bytes)
		return -1;
	text.bytes = bytes;
	status = config_parse(&text, overrides, config, t);
	free(bytes);
	return status;
}

void config_free(struct config *config)
{
	if (!config)
		return;
	for (size_t i = 0; i < config->pipeline_count; i++)
		pipeline_config_free(&config->pipelines[i]);
	for (size_t i = 0; i < config->stream_count; i++)
		stream_config_free(&config->streams[i]);
	free(config->pipelines);
	free(config->streams);
	free(config->path);
	free(config->index);
	free(config);
}

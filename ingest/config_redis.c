/*
 * config_redis: the redis sections, and how the general one, a pipeline's own and the command line become one
 * address.
 */
#include "ingest/config_read.h"

#include <stdlib.h>
#include <string.h>

#include "sql/mem.h"

enum { RATE_STANDARD = 50000 };

static int read_url(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	struct redis_part *part = into;
	struct trouble why = { 0 };
	const char *text = value_text(r, rule, value);
	char *secret = NULL;
	int status;

	if (!text)
		return -1;
	if (!strncmp(text, "file:", 5)) {
		secret = secret_from_file(r, text + 5, &why);
		if (!secret)
			return reader_bad(r, value->line, "%s: %s", rule->key, why.text);
	}
	status = redis_url_parse(secret ? secret : text, &part->url, &why);
	free(secret);
	return status < 0 ? reader_bad(r, value->line, "%s: %s", rule->key, why.text) : 0;
}

static int read_plan(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	struct redis_part *part = into;

	part->plan_given = true;
	return read_switch(r, rule, value, into);
}

static int read_pem(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	char **out = rule_member(rule, into), *path;

	if (read_text_or_none(r, rule, value, into) < 0)
		return -1;
	if (!*out)
		return 0;
	if (!strncmp(*out, "file:", 5))
		return reader_bad_value(r, rule, value, "valid: the path alone, without file:");
	path = path_from_file(r, *out);
	free(*out);
	*out = path;
	return 0;
}

static const struct rule rules[] = {
	{ .key = "url", .read = read_url, .type = "redis://, rediss:// or unix:// address, or file:PATH",
	  .otherwise = "none" },
	{ .key = "user", .read = read_text_or_none, .offset = offsetof(struct redis_part, user), .type = "text",
	  .otherwise = "none" },
	{ .key = "password", .read = read_secret, .offset = offsetof(struct redis_part, password),
	  .type = "text or file:PATH", .otherwise = "none" },
	{ .key = "db", .read = read_number, .offset = offsetof(struct redis_part, db), .type = "integer",
	  .otherwise = "0", .most = INT32_MAX },
	{ .key = "rate", .read = read_number, .offset = offsetof(struct redis_part, rate), .type = "integer",
	  .otherwise = "50000", .most = 1000000000 },
	{ .key = "cluster.plan", .read = read_plan, .offset = offsetof(struct redis_part, cluster_plan),
	  .type = "yes, no", .otherwise = "no" },
	{ .key = "tls.ca", .read = read_pem, .offset = offsetof(struct redis_part, tls.ca), .type = "path",
	  .otherwise = "the system's" },
	{ .key = "tls.cert", .read = read_pem, .offset = offsetof(struct redis_part, tls.cert), .type = "path",
	  .otherwise = "none" },
	{ .key = "tls.key", .read = read_pem, .offset = offsetof(struct redis_part, tls.key), .type = "path",
	  .otherwise = "none" },
	{ .key = "tls.name", .read = read_text_or_none, .offset = offsetof(struct redis_part, tls.name),
	  .type = "text", .otherwise = "the host of url" },
};

const struct section config_redis_section = { "redis", rules, sizeof(rules) / sizeof(rules[0]) };

static int refuse_twice(const struct reader *r, const struct redis_part *part)
{
	const char *what = NULL;

	if (part->url.user && part->user)
		what = "user";
	else if (part->url.password && part->password)
		what = "password";
	else if (part->url.db >= 0 && part->db != UNKNOWN)
		what = "db";
	return what ? reader_bad(r, part->line, "%s is given twice, by itself and in url", what) : 0;
}

/* Which key about TLS is given, if any. section: as written. */
static void note_tls(struct redis_part *part, const struct node *section)
{
	for (size_t i = 0; i < config_redis_section.count && !part->tls_key; i++) {
		const struct node *value = node_find(section, rules[i].key);
		const char *const *text = rule_member(&rules[i], part);

		if (!value || strncmp(rules[i].key, "tls.", 4) || !*text)
			continue;
		part->tls_key = rules[i].key;
		part->tls_line = value->line;
	}
}

static int refuse_plain(const struct reader *r, const struct redis_part *part, const struct redis_url *url)
{
	if (!part->tls_key || !url->given || url->tls)
		return 0;
	return reader_bad(r, part->tls_line, "%s, but url is not rediss://; valid: url: rediss://HOST:PORT, or no %s",
			  part->tls_key, part->tls_key);
}

static int check_tls(const struct reader *r, struct redis_part *part, const struct node *section)
{
	const char *given = part->tls.cert ? "tls.cert" : "tls.key", *other = part->tls.cert ? "tls.key" : "tls.cert";

	note_tls(part, section);
	if (!part->tls.cert != !part->tls.key)
		return reader_bad(r, node_find(section, given)->line, "%s without %s; valid: both, or neither", given,
				  other);
	return refuse_plain(r, part, &part->url);
}

int read_redis(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	struct redis_part *part = rule_member(rule, into);
	struct reader inside = *r;
	char *where = r->where ? xprintf("redis of %s", r->where) : xstrdup("redis");
	int status;

	redis_part_free(part);
	part->line = value->line;
	inside.where = where;
	if (value->kind == NODE_TEXT && !strcmp(value->text, "none")) {
		part->none = true;
		status = 0;
	} else if (value->kind == NODE_TEXT || value->kind == NODE_LIST) {
		status = reader_bad(&inside, value->line, "must be a mapping with url, or none");
	} else {
		part->given = value->kind == NODE_MAP && value->count;
		status = section_read(&inside, &config_redis_section, value, value->line, part);
		if (!status)
			status = refuse_twice(&inside, part);
		if (!status)
			status = check_tls(&inside, part, value);
	}
	free(where);
	return status;
}

static void tls_settings_free(struct tls_settings *tls)
{
	free(tls->ca);
	free(tls->cert);
	free(tls->key);
	free(tls->name);
	*tls = (struct tls_settings){ 0 };
}

void redis_part_free(struct redis_part *part)
{
	redis_url_free(&part->url);
	free(part->user);
	free(part->password);
	tls_settings_free(&part->tls);
	*part = (struct redis_part){ .url.db = -1, .db = UNKNOWN, .rate = UNKNOWN };
}

/* --- one out of three --------------------------------------------------------------------------------------------- */

/* What counts, the strongest first. */
struct layers {
	const struct redis_part *part[3];
	size_t count;
};

static char *first_text(const struct layers *layers, bool password, const char *otherwise)
{
	const char *found = NULL;

	for (size_t i = 0; i < layers->count && !found; i++) {
		const struct redis_part *part = layers->part[i];

		found = password ? part->password : part->user;
		if (!found)
			found = password ? part->url.password : part->url.user;
	}
	if (!found)
		found = otherwise;
	return found ? xstrdup(found) : NULL;
}

static int first_db(const struct layers *layers)
{
	for (size_t i = 0; i < layers->count; i++) {
		const struct redis_part *part = layers->part[i];

		if (part->db != UNKNOWN)
			return (int)part->db;
		if (part->url.db >= 0)
			return part->url.db;
	}
	return 0;
}

static struct tls_settings first_tls(const struct layers *layers)
{
	struct tls_settings found = { 0 };

	for (size_t i = 0; i < layers->count; i++) {
		const struct tls_settings *tls = &layers->part[i]->tls;

		if (!found.ca && tls->ca)
			found.ca = xstrdup(tls->ca);
		if (!found.name && tls->name)
			found.name = xstrdup(tls->name);
		if (found.cert || !tls->cert)
			continue;
		found.cert = xstrdup(tls->cert);
		found.key = xstrdup(tls->key);
	}
	return found;
}

static char *address(const struct redis_config *redis)
{
	if (redis->path)
		return xprintf("unix:%s/%d", redis->path, redis->db);
	return xprintf(strchr(redis->host, ':') ? "[%s]:%d/%d" : "%s:%d/%d", redis->host, redis->port, redis->db);
}

static void fill(const struct reader *r, const struct layers *layers, const struct redis_url *url,
		 struct redis_config *out)
{
	const char *auth = r->overrides->redis_auth;

	out->host = url->host ? xstrdup(url->host) : NULL;
	out->path = url->path ? xstrdup(url->path) : NULL;
	out->port = url->port;
	out->tls = url->tls;
	out->tls_settings = first_tls(layers);
	out->user = first_text(layers, false, NULL);
	out->password = first_text(layers, true, auth && *auth ? auth : NULL);
	out->db = first_db(layers);
	out->address = address(out);
}

int redis_resolve(const struct reader *r, const struct redis_part *general, const struct redis_part *own,
		  const struct redis_url *cli, struct redis_config *out)
{
	const struct redis_part command = { .given = cli->given, .url = *cli, .db = UNKNOWN, .rate = UNKNOWN };
	struct layers layers = { .part = { &command, own, general } };
	const struct redis_url *url = cli;
	int64_t rate = own->rate != UNKNOWN ? own->rate : general->rate;

	*out = (struct redis_config){ 0 };
	if (own->none || (general->none && !own->given) || (!own->given && !general->given && !cli->given))
		return 0;
	if (!own->url.given && refuse_plain(r, own, &general->url) < 0)
		return -1;
	layers.count = own->url.given ? 2 : 3; /* the general password is for another server */
	if (!url->given)
		url = own->url.given ? &own->url : &general->url;
	if (!url->given)
		return reader_bad(r, own->given ? own->line : general->line,
				  "redis has no url; valid: url: redis://HOST:PORT, or redis: none");
	if (r->overrides->redis_rate != UNKNOWN)
		rate = r->overrides->redis_rate;
	fill(r, &layers, url, out);
	out->rate = rate == UNKNOWN ? RATE_STANDARD : rate;
	out->cluster_plan = own->plan_given ? own->cluster_plan : general->cluster_plan;
	return 1;
}

void redis_config_free(struct redis_config *redis)
{
	free(redis->host);
	free(redis->path);
	free(redis->user);
	free(redis->password);
	free(redis->address);
	tls_settings_free(&redis->tls_settings);
	*redis = (struct redis_config){ 0 };
}

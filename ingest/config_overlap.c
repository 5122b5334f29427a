/*
 * config_overlap: two pipelines, or a pipeline's keys and its epochs, that name the same Redis keys. Templates that
 * only overlap are fine: the longest literal prefix wins. A ^regex stands for itself here, because which topics it
 * matches is not known yet.
 */
#include "ingest/config_read.h"

#include <stdlib.h>
#include <string.h>

#include "sql/mem.h"

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Which Redis keys a template names, as sorted globs, one a topic. */
static struct names globs_of(const struct key_template *template, const struct names *topics)
{
	struct names globs = { 0 };

	if (!template)
		return globs;
	globs.items = xarray(topics->count, sizeof(*globs.items));
	for (size_t i = 0; i < topics->count; i++) {
		size_t size;

		globs.items[globs.count++] = template_match(template, topics->items[i], &size);
	}
	qsort(globs.items, globs.count, sizeof(*globs.items), compare);
	return globs;
}

/* A glob that is in both of the sorted lists; NULL where there is none. */
static char *common(const struct names *a, const struct names *b)
{
	size_t i = 0, j = 0;

	while (i < a->count && j < b->count) {
		int order = strcmp(a->items[i], b->items[j]);

		if (!order)
			return xstrdup(a->items[i]);
		i += order < 0;
		j += order > 0;
	}
	return NULL;
}

/*
 * A glob that a's keys and template, with a topic of b filled in, have in common; the caller frees. NULL where
 * there is none.
 */
static char *shared_glob(const struct pipeline_draft *a, const struct pipeline_draft *b,
			 const struct key_template *template)
{
	struct names globs_a = globs_of(a->p.key, &a->topics), globs_b = globs_of(template, &b->topics);
	char *found = common(&globs_a, &globs_b);

	names_free(&globs_a);
	names_free(&globs_b);
	return found;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Two fences in one hash are legal, as long as no field serves both. */
static bool same_fields(const struct pipeline_config *a, const struct pipeline_config *b)
{
	return same_text(a->field_offset, b->field_offset) && same_text(a->field_partition, b->field_partition) &&
	       same_text(a->field_value, b->field_value);
}

static int refuse_keys(const struct reader *r, const struct pipeline_draft *a, const struct pipeline_draft *b)
{
	char *glob = same_fields(&a->p, &b->p) ? shared_glob(a, b, b->p.key) : NULL;

	if (!glob)
		return 0;
	reader_bad(
		r, b->p.line,
		"pipelines %.100s and %.100s keep their fences in the same hashes %.100s of %.100s; valid: templates "
		"that "
		"differ, or other names of fields",
		a->p.name, b->p.name, glob, b->p.redis.address);
	free(glob);
	return -1;
}

static int refuse_epochs(const struct reader *r, const struct pipeline_draft *a, const struct pipeline_draft *b)
{
	char *glob = shared_glob(a, b, b->p.epoch);

	if (!glob)
		return 0;
	reader_bad(r, b->p.line,
		   "the epochs of pipeline %.100s and the keys of pipeline %.100s are the same keys %.100s of %.100s",
		   b->p.name, a->p.name, glob, b->p.redis.address);
	free(glob);
	return -1;
}

static int refuse_pair(const struct reader *r, const struct pipeline_draft *a, const struct pipeline_draft *b)
{
	if (!a->p.has_redis || !b->p.has_redis || strcmp(a->p.redis.address, b->p.redis.address))
		return 0;
	if (a != b && refuse_keys(r, a, b) < 0)
		return -1;
	return refuse_epochs(r, a, b);
}

/* --- -u ----------------------------------------------------------------------------------------------------------- */

static const struct redis_url *own_server(const struct draft *draft, const struct pipeline_draft *d)
{
	return d->redis.url.given ? &d->redis.url : &draft->redis.url;
}

static bool same_server(const struct redis_url *a, const struct redis_url *b)
{
	return same_text(a->host, b->host) && same_text(a->path, b->path) && a->port == b->port;
}

static int refuse_cli(const struct reader *r, const struct draft *draft)
{
	const struct pipeline_draft *first = NULL;

	for (size_t i = 0; draft->cli.given && i < draft->pipeline_count; i++) {
		const struct pipeline_draft *d = &draft->pipelines[i];

		if (!d->p.has_redis)
			continue;
		if (first && !same_server(own_server(draft, first), own_server(draft, d)))
			return trouble_set(
				r->t,
				"-u: the pipelines %.100s and %.100s of %s are on different servers, which one URL "
				"cannot "
				"stand for",
				first->p.name, d->p.name, r->name);
		first = first ? first : d;
	}
	return 0;
}

int config_refuse_overlaps(const struct reader *r, const struct draft *draft)
{
	if (refuse_cli(r, draft) < 0)
		return -1;
	for (size_t i = 0; i < draft->pipeline_count; i++) {
		for (size_t j = 0; j < draft->pipeline_count; j++) {
			if (refuse_pair(r, &draft->pipelines[i], &draft->pipelines[j]) < 0)
				return -1;
		}
	}
	return 0;
}

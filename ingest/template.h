/*
 * template: record key <-> Redis key. A template is literal text with marks: {key}, {topic}, {partition}; {{ and }}
 * are literal braces.
 *
 *     key: "state:{key}"            user-42        <->  state:user-42
 *     key: "state:{{{topic}}}:{key}"               ->   state:{orders}:user-42
 *
 * key.format says how the bytes of a record key become the text of {key}: see sql/keyformat.h.
 * Both ways are exact: a Redis key parses back to the one record key that renders to it (in a format with a prefix, to
 * the one behind any prefix), or does not parse. A record key that is not of the format has no Redis key.
 */
#ifndef INGEST_TEMPLATE_H
#define INGEST_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/buffer.h"
#include "sql/keyformat.h"
#include "sql/trouble.h"

struct key_template;

/*
 * Compiles text. NULL with t filled (position and what is valid) where it is empty or malformed, has {key} twice, or
 * {key} and {partition}. {topic} and {partition} may be repeated. Wherever a topic is asked for below, it may be
 * NULL only if the template has no {topic}.
 */
struct key_template *template_new(const char *text, struct trouble *t);
void template_free(struct key_template *template);
const char *template_text(const struct key_template *template);
bool template_has_topic(const struct key_template *template);
bool template_has_key(const struct key_template *template);
bool template_has_partition(const struct key_template *template);

/* The literal bytes before the first mark, with {topic} already filled in; the caller frees. For overlap rules. */
char *template_prefix(const struct key_template *template, const char *topic, size_t *size);

/*
 * The whole template as a glob for SCAN MATCH: {key} and {partition} are '*', special characters of the rest
 * escaped. Two templates have the same glob if and only if they name the same Redis keys. The caller frees; a NUL
 * ends it that size does not count.
 */
char *template_match(const struct key_template *template, const char *topic, size_t *size);

/*
 * Record key -> Redis key, into out (replaced). 1; 0 where the key has none in this format (int64 of 5 bytes), and
 * out is junk.
 */
int template_render(const struct key_template *template, enum key_format format, const char *topic, const void *key,
		    size_t key_size, struct buffer *out);

/* (topic, partition) -> Redis key of an epoch, into out (replaced). */
void template_render_partition(const struct key_template *template, const char *topic, int32_t partition,
			       struct buffer *out);

/*
 * Redis key -> record key, without its prefix where the format has one, into out (replaced). 1; 0 where it is not of this template, or is not canonical in the
 * format ("007" as int64), and out is junk.
 */
int template_parse(const struct key_template *template, enum key_format format, const char *topic,
		   const void *redis_key, size_t redis_key_size, struct buffer *out);

#endif

/*
 * template: record key <-> Redis key. A template is literal text with marks: {key}, {topic}, {partition}; {{ and }} are literal braces.
 *
 *     key: "state:{key}"            user-42        <->  state:user-42
 *     key: "state:{{{topic}}}:{key}"               ->   state:{orders}:user-42
 *
 * key.format says how the bytes of a record key become the text of {key}:
 *     raw      the bytes as they are
 *     int32    4 bytes big-endian -> decimal
 *     int64    8 bytes big-endian -> decimal
 *     uuid     16 bytes -> 36 lower-case characters
 *     hex      bytes -> lower-case hexadecimal
 *     base64   bytes -> RFC 4648 with padding
 *     json     UTF-8 text -> the JSON string literal's content without quotes?  (see template.c)
 * Both ways are exact: a Redis key parses back to the one record key that renders to it, or does not parse.
 */
#ifndef INGEST_TEMPLATE_H
#define INGEST_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/trouble.h"

#define KEY_FORMATS(X) X(RAW, "raw") X(INT32, "int32") X(INT64, "int64") X(UUID, "uuid") X(HEX, "hex") X(BASE64, "base64") X(JSON, "json")

#define KEY_FORMAT_ENUM(name, word) KEY_FORMAT_##name,
enum key_format { KEY_FORMATS(KEY_FORMAT_ENUM) KEY_FORMAT_COUNT };

const char *key_format_word(enum key_format format);

/* A growing run of bytes that is reused from call to call. Zero-initialise; free data with free(). */
struct buffer {
	uint8_t *data;
	size_t size, room;
};

void buffer_clear(struct buffer *b);
void buffer_add(struct buffer *b, const void *bytes, size_t size);
void buffer_release(struct buffer *b);

struct key_template;

/* Compiles text. NULL with t filled (position and what is valid) where it is malformed or repeats {key}. */
struct key_template *template_new(const char *text, struct trouble *t);
void template_free(struct key_template *template);
const char *template_text(const struct key_template *template);
bool template_has_topic(const struct key_template *template);
bool template_has_key(const struct key_template *template);
bool template_has_partition(const struct key_template *template);

/* The literal bytes before the first mark, with {topic} already filled in; the caller frees. For SCAN MATCH and for overlap rules. */
char *template_prefix(const struct key_template *template, const char *topic, size_t *size);

/* The same as a glob for SCAN MATCH, special characters escaped, ended by '*' (or exact where the template ends). The caller frees. */
char *template_match(const struct key_template *template, const char *topic, size_t *size);

/* Record key -> Redis key, into out (replaced). 1; 0 where the key has no rendering in this format (e.g. int64 of 5 bytes). */
int template_render(const struct key_template *template, enum key_format format, const char *topic, const void *key, size_t key_size,
		    struct buffer *out);

/* (topic, partition) -> Redis key of an epoch, into out (replaced). */
void template_render_partition(const struct key_template *template, const char *topic, int32_t partition, struct buffer *out);

/* Redis key -> record key, into out (replaced). 1; 0 where it is not of this template, or is not canonical in the format ("007" as int64). */
int template_parse(const struct key_template *template, enum key_format format, const char *topic, const void *redis_key,
		   size_t redis_key_size, struct buffer *out);

#endif

/*
 * keyformat: the bytes of a record key <-> the text that stands for {key} in a Redis key (the list is in template.h).
 *
 * Each format is a bijection between some byte strings and some texts: what has no canonical text is not rendered,
 * what is not canonical does not parse, and whatever parses renders to itself again.
 */
#ifndef INGEST_KEYFORMAT_H
#define INGEST_KEYFORMAT_H

#include <stddef.h>

#include "ingest/template.h"

/*
 * Appends the text of key[0..size) to out. 1; or 0 where the key has none, and what out then holds beyond its old
 * size is junk.
 */
int keyformat_render(enum key_format format, const void *key, size_t size, struct buffer *out);

/* Appends the key that renders to text[0..size) to out. 1; or 0 where there is none, and out is as junk as above. */
int keyformat_parse(enum key_format format, const void *text, size_t size, struct buffer *out);

#endif

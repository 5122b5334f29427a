/*
 * stream_match: Redis' globs over bytes.
 *
 *     *       any bytes, or none
 *     ?       one byte
 *     [a-z]   one byte of the set; [^a-z] one that is not in it; without its ] the set ends with the pattern
 *     \x      x itself, also in a set
 *
 * As Redis' own matcher without regard to letters' case (https://redis.io/docs/latest/commands/keys/), so that what is
 * left out and what the server lists by MATCH agree.
 */
#ifndef INGEST_STREAM_MATCH_H
#define INGEST_STREAM_MATCH_H

#include <stdbool.h>
#include <string.h>

#include "sql/facts.h"

/* Whether the text is a glob, and not a name. */
static inline bool stream_is_glob(const char *text)
{
	return strpbrk(text, "*?[\\") != NULL;
}

/* Whether the pattern fits the whole of name. Time: product of both lengths at most. */
bool stream_glob_fits(struct bytes pattern, struct bytes name);

/* A name must be equal; a glob must fit. */
bool stream_match(const char *pattern, struct bytes name);

#endif

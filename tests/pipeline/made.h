/* Keys and values that a seed makes. */
#ifndef PIPELINE_MADE_H
#define PIPELINE_MADE_H

#include "prng.h"
#include "util.h"

enum made_format { MADE_RAW, MADE_BINARY, MADE_ODD, MADE_INT32, MADE_INT64, MADE_UUID };

/* The words of made_format, ended by NULL. */
extern const char *const made_formats[];

/*
 * The index-th key of a format, into b: raw is "user-INDEX"; binary 1 to 24 arbitrary bytes; odd walks through what
 * breaks careless programs (empty, 64 KiB, braces, newlines, NUL, invalid UTF-8, quotes, glob signs); int32 and int64
 * are big-endian, every second one negative; uuid is 16 bytes. Different indices make different keys.
 */
void made_key(enum made_format format, int64_t index, struct buf *b);

/* A value of exactly size bytes that names its number, or a decimal int64 in [-1000,1000] where number is asked for. */
void made_value(struct prng *p, int64_t i, size_t size, struct buf *b);
void made_number(struct prng *p, struct buf *b);

#endif

/*
 * Writes one JSON value into a buf, member by member:
 *
 *   json_open(&b, NULL, '{'); json_int(&b, "partition", 3); json_close(&b, '}');   ->  {"partition":3}
 *
 * A name of NULL stands for "an element of an array" or "the value itself".
 */
#ifndef PIPELINE_JSON_H
#define PIPELINE_JSON_H

#include "util.h"

/* Open an object or an array; kind is '{' or '['. */
void json_open(struct buf *b, const char *name, char kind);

/* Close it; kind is '}' or ']'. */
void json_close(struct buf *b, char kind);

void json_int(struct buf *b, const char *name, int64_t value);
void json_bool(struct buf *b, const char *name, bool value);

/* Text must be UTF-8 without a NUL byte; NULL writes null. */
void json_text(struct buf *b, const char *name, const char *text);

/* Bytes as a string where they are valid UTF-8, else null. */
void json_bytes(struct buf *b, const char *name, struct bytes value);

/* Bytes in lower-case hex; null bytes write null. */
void json_hex(struct buf *b, const char *name, struct bytes value);

/* Print what was written as one line on stdout and clear it; dies where stdout cannot be written. */
void json_print(struct buf *b);

#endif

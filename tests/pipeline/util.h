/* What every program of the reference pipeline needs: ending with a message, memory, growing byte strings, time. */
#ifndef PIPELINE_UTIL_H
#define PIPELINE_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Borrowed bytes; data is NULL for "null", which is not the same as empty. */
struct bytes {
	const char *data;
	size_t len;
};

/* A growing byte string, always followed by a NUL byte that is not counted. Zero it to begin; buf_release frees it. */
struct buf {
	char *data;
	size_t len, room;
};

/* Print "PROGRAM: message" to stderr and exit 1. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* The same, exit 64: the command line makes no sense. */
void die_usage(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Print "PROGRAM: message" to stderr and go on. */
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* As malloc, realloc and strdup; out of memory ends the program. The caller frees. */
void *xmalloc(size_t size);
void *xrealloc(void *old, size_t size);
char *xstrdup(const char *text);

void buf_clear(struct buf *b);
void buf_add(struct buf *b, const void *data, size_t len);
void buf_text(struct buf *b, const char *text);
void buf_format(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_release(struct buf *b);

static inline struct bytes buf_bytes(const struct buf *b)
{
	return (struct bytes){ b->data ? b->data : "", b->len };
}

/* Borrowed bytes of a C string; NULL stays NULL. */
struct bytes bytes_of(const char *text);

/* Compare as memcmp does, a prefix before what it begins. */
int bytes_compare(struct bytes a, struct bytes b);

/* Parse a whole decimal int64 ("-5", "12"); false where it is anything else or does not fit. */
bool parse_int64(struct bytes text, int64_t *to);

/* Decode hex of either case into b; false where it is not hex. */
bool parse_hex(const char *text, struct buf *b);

/* The whole file in b; dies where it cannot be read. */
void read_file(const char *path, struct buf *b);

/* Milliseconds of the wall clock, and of a clock that never goes back. */
int64_t wall_ms(void);
int64_t tick_ms(void);

void sleep_ms(int64_t ms);

#endif

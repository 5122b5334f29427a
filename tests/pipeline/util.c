/* What every program of the reference pipeline needs: ending with a message, memory, growing byte strings, time. */
#include "util.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void __attribute__((format(printf, 1, 0))) complain(const char *format, va_list args)
{
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
	exit(1);
}

void die_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
	exit(64);
}

void warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
}

void *xrealloc(void *old, size_t size)
{
	void *p = realloc(old, size ? size : 1);

	if (!p)
		die("out of memory (%zu bytes)", size);
	return p;
}

void *xmalloc(size_t size)
{
	return xrealloc(NULL, size);
}

char *xstrdup(const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(xmalloc(size), text, size);
}

static void buf_reserve(struct buf *b, size_t more)
{
	size_t need = b->len + more + 1;

	if (need <= b->room)
		return;
	b->room = need < 64 ? 64 : need * 2;
	b->data = xrealloc(b->data, b->room);
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	buf_reserve(b, 0);
	b->data[0] = '\0';
}

void buf_add(struct buf *b, const void *data, size_t len)
{
	buf_reserve(b, len);
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void buf_text(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void buf_format(struct buf *b, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0)
		die("cannot format \"%s\"", format);
	buf_reserve(b, (size_t)n);
	va_start(args, format);
	vsnprintf(b->data + b->len, (size_t)n + 1, format, args);
	va_end(args);
	b->len += (size_t)n;
}

void buf_release(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}

struct bytes bytes_of(const char *text)
{
	return (struct bytes){ text, text ? strlen(text) : 0 };
}

int bytes_compare(struct bytes a, struct bytes b)
{
	size_t least = a.len < b.len ? a.len : b.len;
	int order = least ? memcmp(a.data, b.data, least) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

bool parse_int64(struct bytes text, int64_t *to)
{
	char copy[24];
	char *end;

	if (!text.data || !text.len || text.len >= sizeof(copy))
		return false;
	memcpy(copy, text.data, text.len);
	copy[text.len] = '\0';
	if (!isdigit((unsigned char)copy[0]) && !(copy[0] == '-' && isdigit((unsigned char)copy[1])))
		return false;
	errno = 0;
	*to = strtoll(copy, &end, 10);
	return !errno && end == copy + text.len;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool parse_hex(const char *text, struct buf *b)
{
	buf_clear(b);
	for (; *text; text += 2) {
		int high = hex_digit(text[0]);
		int low = text[0] ? hex_digit(text[1]) : -1;
		char byte = (char)(high * 16 + low);

		if (high < 0 || low < 0)
			return false;
		buf_add(b, &byte, 1);
	}
	return true;
}

void read_file(const char *path, struct buf *b)
{
	FILE *f = fopen(path, "rb");
	char part[4096];
	size_t n;

	if (!f)
		die("cannot read %s: %s", path, strerror(errno));
	buf_clear(b);
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		buf_add(b, part, n);
	if (ferror(f))
		die("cannot read %s: %s", path, strerror(errno));
	fclose(f);
}

static int64_t clock_ms(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t wall_ms(void)
{
	return clock_ms(CLOCK_REALTIME);
}

int64_t tick_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

void sleep_ms(int64_t ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000 };

	while (ms > 0 && nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

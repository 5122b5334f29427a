/* Writes one JSON value into a buf, member by member. */
#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void quote(struct buf *b, struct bytes text)
{
	buf_text(b, "\"");
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (c == '"' || c == '\\')
			buf_format(b, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			buf_format(b, "\\u%04x", c);
		else
			buf_add(b, &text.data[i], 1);
	}
	buf_text(b, "\"");
}

static void begin(struct buf *b, const char *name)
{
	if (b->len && !strchr("{[:", b->data[b->len - 1]))
		buf_text(b, ",");
	if (name) {
		quote(b, bytes_of(name));
		buf_text(b, ":");
	}
}

/* The length of the UTF-8 sequence at p (RFC 3629: no surrogates, nothing overlong), 0 where there is none. */
static size_t utf8_length(const unsigned char *p, size_t left)
{
	static const struct {
		unsigned char first, last, low, high;
		size_t len;
	} forms[] = {
		{ 0x00, 0x7f, 0x80, 0xbf, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
		if (p[0] < forms[f].first || p[0] > forms[f].last)
			continue;
		if (forms[f].len > left)
			return 0;
		for (size_t i = 1; i < forms[f].len; i++) {
			unsigned char low = i == 1 ? forms[f].low : 0x80, high = i == 1 ? forms[f].high : 0xbf;

			if (p[i] < low || p[i] > high)
				return 0;
		}
		return forms[f].len;
	}
	return 0;
}

static bool is_utf8(struct bytes text)
{
	size_t i = 0;

	while (i < text.len) {
		size_t n = utf8_length((const unsigned char *)text.data + i, text.len - i);

		if (!n)
			return false;
		i += n;
	}
	return true;
}

void json_open(struct buf *b, const char *name, char kind)
{
	begin(b, name);
	buf_add(b, &kind, 1);
}

void json_close(struct buf *b, char kind)
{
	buf_add(b, &kind, 1);
}

void json_int(struct buf *b, const char *name, int64_t value)
{
	begin(b, name);
	buf_format(b, "%" PRId64, value);
}

void json_bool(struct buf *b, const char *name, bool value)
{
	begin(b, name);
	buf_text(b, value ? "true" : "false");
}

void json_text(struct buf *b, const char *name, const char *text)
{
	json_bytes(b, name, bytes_of(text));
}

void json_bytes(struct buf *b, const char *name, struct bytes value)
{
	begin(b, name);
	if (value.data && is_utf8(value))
		quote(b, value);
	else
		buf_text(b, "null");
}

void json_hex(struct buf *b, const char *name, struct bytes value)
{
	begin(b, name);
	if (!value.data) {
		buf_text(b, "null");
		return;
	}
	buf_text(b, "\"");
	for (size_t i = 0; i < value.len; i++)
		buf_format(b, "%02x", (unsigned char)value.data[i]);
	buf_text(b, "\"");
}

void json_print(struct buf *b)
{
	buf_text(b, "\n");
	if (fwrite(b->data, 1, b->len, stdout) != b->len || fflush(stdout))
		die("cannot write to stdout: %s", strerror(errno));
	buf_clear(b);
}

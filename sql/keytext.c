/* Keys to safe text and hex, and back. */
#include "sql/keytext.h"

#include <stdint.h>
#include <string.h>

#include "sql/utf8.h"

static const char hex_digits[] = "0123456789abcdef";

/* Code points above ASCII that a screen must not be given, half-open. */
static const struct { uint32_t start, end; } unsafe[] = {
	{ 0x80, 0xa0 },       /* C1 controls */
	{ 0xad, 0xae },       /* soft hyphen */
	{ 0x34f, 0x350 },     /* combining grapheme joiner */
	{ 0x61c, 0x61d },     /* Arabic letter mark */
	{ 0x115f, 0x1161 },   /* Hangul fillers */
	{ 0x17b4, 0x17b6 },   /* Khmer inherent vowels */
	{ 0x180b, 0x1810 },   /* Mongolian variation selectors and vowel separator */
	{ 0x200b, 0x2010 },   /* zero width, direction marks */
	{ 0x2028, 0x202f },   /* line and paragraph separators, embeddings and overrides */
	{ 0x2060, 0x2070 },   /* word joiner, isolates, deprecated formats */
	{ 0x3164, 0x3165 },   /* Hangul filler */
	{ 0xfdd0, 0xfdf0 },   /* noncharacters */
	{ 0xfeff, 0xff00 },   /* byte order mark */
	{ 0xffa0, 0xffa1 },   /* halfwidth Hangul filler */
	{ 0xfff0, 0xfffc },   /* specials, annotations */
	{ 0x1bca0, 0x1bca4 }, /* shorthand formats */
	{ 0x1d173, 0x1d17b }, /* musical formats */
	{ 0xe0000, 0xe1000 }, /* tags, variation selectors */
};

static bool point_is_safe(uint32_t point)
{
	for (size_t i = 0; i < sizeof(unsafe) / sizeof(*unsafe); i++)
		if (unsafe[i].start <= point && point < unsafe[i].end)
			return false;
	return (point & 0xfffe) != 0xfffe;
}

static char *write_byte(uint8_t byte, char *out)
{
	static const char letters[256] = { ['\t'] = 't', ['\n'] = 'n', ['\r'] = 'r', ['\\'] = '\\' };

	*out++ = '\\';
	if (letters[byte]) {
		*out++ = letters[byte];
		return out;
	}
	*out++ = 'x';
	*out++ = hex_digits[byte >> 4];
	*out++ = hex_digits[byte & 15];
	return out;
}

static char *write_point(uint32_t point, char *out)
{
	int shift = 20;

	while (shift && !(point >> shift & 15))
		shift -= 4;
	memcpy(out, "\\u{", 3);
	out += 3;
	for (; shift >= 0; shift -= 4)
		*out++ = hex_digits[point >> shift & 15];
	*out++ = '}';
	return out;
}

size_t keytext_write(const void *key, size_t len, char *out)
{
	const uint8_t *bytes = key;
	char *start = out;

	for (size_t at = 0, width; at < len; at += width) {
		uint32_t point;

		width = utf8_decode(bytes + at, len - at, &point);
		if (!width || point < 0x20 || point == 0x7f || point == '\\') {
			out = write_byte(bytes[at], out);
			width = 1;
		} else if (point >= 0x80 && !point_is_safe(point)) {
			out = write_point(point, out);
		} else {
			memcpy(out, bytes + at, width);
			out += width;
		}
	}
	*out = '\0';
	return (size_t)(out - start);
}

/* Whether a screen may be given the character at bytes, and neither text form has an escape for it. */
static bool is_plain(const uint8_t *bytes, size_t len, size_t *width)
{
	uint32_t point;

	*width = utf8_decode(bytes, len, &point);
	return *width && point >= 0x20 && point != 0x7f && point != '\\' && (point < 0x80 || point_is_safe(point));
}

/* In $'...', which knows bytes and no code points. */
static char *write_escaped(const uint8_t *bytes, size_t len, char *out)
{
	for (size_t at = 0, width; at < len; at += width) {
		if (bytes[at] == '\'') {
			memcpy(out, "\\'", 2);
			out += 2;
			width = 1;
		} else if (is_plain(bytes + at, len - at, &width)) {
			memcpy(out, bytes + at, width);
			out += width;
		} else {
			out = write_byte(bytes[at], out);
			width = 1;
		}
	}
	return out;
}

static char *write_quoted(const uint8_t *bytes, size_t len, char *out)
{
	for (size_t at = 0; at < len; at++) {
		if (bytes[at] == '\'') {
			memcpy(out, "'\\'", 3);
			out += 3;
		}
		*out++ = (char)bytes[at];
	}
	return out;
}

/* What no shell gives a meaning to. */
static bool is_word(const uint8_t *bytes, size_t len)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:/@%+=,-";

	for (size_t at = 0; at < len; at++)
		if (!bytes[at] || !strchr(safe, bytes[at]))
			return false;
	return len > 0;
}

size_t keyshell_write(const void *key, size_t len, char *out)
{
	const uint8_t *bytes = key;
	char *start = out;
	bool plain = true;

	if (is_word(bytes, len)) {
		memcpy(out, bytes, len);
		out[len] = '\0';
		return len;
	}
	for (size_t at = 0, width; at < len && plain; at += width)
		plain = is_plain(bytes + at, len - at, &width);
	if (!plain)
		*out++ = '$';
	*out++ = '\'';
	out = plain ? write_quoted(bytes, len, out) : write_escaped(bytes, len, out);
	*out++ = '\'';
	*out = '\0';
	return (size_t)(out - start);
}

/* The value of a hex digit, or -1. */
static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads {N} of \u{N}. Returns what it took of text, 0 where it is none; *width is what it wrote to out. */
static size_t read_point(const char *text, size_t len, uint8_t *out, size_t *width)
{
	uint32_t point = 0;
	size_t at = 1;

	if (!len || text[0] != '{')
		return 0;
	for (; at < len && at <= 6 && hex_value(text[at]) >= 0; at++)
		point = point << 4 | (uint32_t)hex_value(text[at]);
	if (at == 1 || at == len || text[at] != '}')
		return 0;
	if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
		return 0;
	*width = utf8_encode(point, out);
	return at + 1;
}

/* Reads what follows a backslash. Returns what it took of text, 0 where it is no escape; *width is what it wrote. */
static size_t read_escape(const char *text, size_t len, uint8_t *out, size_t *width)
{
	static const char letters[256] = { ['t'] = '\t', ['n'] = '\n', ['r'] = '\r', ['\\'] = '\\' };
	size_t taken;

	if (!len)
		return 0;
	*width = 1;
	if (letters[(uint8_t)text[0]]) {
		*out = (uint8_t)letters[(uint8_t)text[0]];
		return 1;
	}
	if (text[0] == 'x' && len > 2 && hex_value(text[1]) >= 0 && hex_value(text[2]) >= 0) {
		*out = (uint8_t)(hex_value(text[1]) << 4 | hex_value(text[2]));
		return 3;
	}
	taken = text[0] == 'u' ? read_point(text + 1, len - 1, out, width) : 0;
	return taken ? taken + 1 : 0;
}

int keytext_read(const char *text, size_t len, void *out, size_t *out_len)
{
	uint8_t *to = out;
	size_t at = 0, width, taken;

	while (at < len) {
		if (text[at] != '\\') {
			*to++ = (uint8_t)text[at++];
			continue;
		}
		taken = read_escape(text + at + 1, len - at - 1, to, &width);
		if (!taken) {
			*out_len = at;
			return -1;
		}
		to += width;
		at += 1 + taken;
	}
	*out_len = (size_t)(to - (uint8_t *)out);
	return 0;
}

size_t keyhex_write(const void *key, size_t len, char *out)
{
	const uint8_t *bytes = key;

	for (size_t i = 0; i < len; i++) {
		*out++ = hex_digits[bytes[i] >> 4];
		*out++ = hex_digits[bytes[i] & 15];
	}
	*out = '\0';
	return 2 * len;
}

int keyhex_read(const char *text, size_t len, void *out, size_t *out_len)
{
	uint8_t *to = out;

	for (size_t at = 0; at < len; at++) {
		int value = hex_value(text[at]);

		if (value < 0 || (at + 1 == len && !(at & 1))) {
			*out_len = at;
			return -1;
		}
		if (at & 1)
			to[at / 2] = (uint8_t)(to[at / 2] | value);
		else
			to[at / 2] = (uint8_t)(value << 4);
	}
	*out_len = len / 2;
	return 0;
}

bool key_is_utf8(const void *key, size_t len)
{
	return utf8_valid(key, len);
}

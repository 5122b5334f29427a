/*
 * Strict UTF-8, one code point at a time (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
 */
#ifndef SQL_UTF8_H
#define SQL_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decodes the code point at text[0..len), len > 0. Returns its length in bytes (1 to 4) and sets *point,
 * or returns 0 where the bytes are no UTF-8; the caller then takes text[0] as a byte of its own.
 */
static inline size_t utf8_decode(const uint8_t *text, size_t len, uint32_t *point)
{
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c = text[0];
	size_t width = c < 0x80 ? 1 : (c & 0xe0) == 0xc0 ? 2 : (c & 0xf0) == 0xe0 ? 3 : (c & 0xf8) == 0xf0 ? 4 : 0;

	*point = c;
	if (width < 2)
		return width;
	if (width > len)
		return 0;
	c &= 0x7fu >> width;
	for (size_t i = 1; i < width; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (text[i] & 0x3fu);
	}
	if (c < least[width] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*point = c;
	return width;
}

/* Whether all of text[0..len) is UTF-8; nothing is. */
static inline bool utf8_valid(const uint8_t *text, size_t len)
{
	uint32_t point;

	for (size_t at = 0, width; at < len; at += width) {
		width = utf8_decode(text + at, len - at, &point);
		if (!width)
			return false;
	}
	return true;
}

/* Writes the code point (at most U+10FFFF) to out, which has room for 4 bytes. Returns the bytes written. */
static inline size_t utf8_encode(uint32_t point, uint8_t *out)
{
	if (point < 0x80) {
		out[0] = (uint8_t)point;
		return 1;
	}
	if (point < 0x800) {
		out[0] = (uint8_t)(0xc0 | point >> 6);
		out[1] = (uint8_t)(0x80 | (point & 0x3f));
		return 2;
	}
	if (point < 0x10000) {
		out[0] = (uint8_t)(0xe0 | point >> 12);
		out[1] = (uint8_t)(0x80 | (point >> 6 & 0x3f));
		out[2] = (uint8_t)(0x80 | (point & 0x3f));
		return 3;
	}
	out[0] = (uint8_t)(0xf0 | point >> 18);
	out[1] = (uint8_t)(0x80 | (point >> 12 & 0x3f));
	out[2] = (uint8_t)(0x80 | (point >> 6 & 0x3f));
	out[3] = (uint8_t)(0x80 | (point & 0x3f));
	return 4;
}

#endif

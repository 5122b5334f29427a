/* keyformat: one pair of functions a format, in one table. */
#include "ingest/keyformat.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sql/utf8.h"

typedef int convert(const uint8_t *in, size_t size, struct buffer *out);

static int copy(const uint8_t *in, size_t size, struct buffer *out)
{
	buffer_add(out, in, size);
	return 1;
}

/* --- int32, int64 ------------------------------------------------------------------------------------------------- */

static int render_int(const uint8_t *in, size_t size, size_t width, struct buffer *out)
{
	uint64_t bits = 0;
	char text[24];
	int length;

	if (size != width)
		return 0;
	for (size_t i = 0; i < width; i++)
		bits = bits << 8 | in[i];
	length =
		snprintf(text, sizeof(text), "%" PRId64, width == 4 ? (int64_t)(int32_t)(uint32_t)bits : (int64_t)bits);
	buffer_add(out, text, (size_t)length);
	return 1;
}

/* Canonical decimal alone: no sign but a minus, no leading zero, no "-0". */
static int parse_int(const uint8_t *in, size_t size, size_t width, struct buffer *out)
{
	bool minus = size && in[0] == '-';
	uint64_t limit = (width == 4 ? (uint64_t)INT32_MAX : (uint64_t)INT64_MAX) + minus;
	uint64_t value = 0;
	uint8_t bytes[8];

	in += minus;
	size -= minus;
	if (!size || (in[0] == '0' && (size > 1 || minus)))
		return 0;
	for (size_t i = 0; i < size; i++) {
		unsigned digit = in[i] - (unsigned)'0';

		if (digit > 9 || value > (limit - digit) / 10)
			return 0;
		value = value * 10 + digit;
	}
	value = minus ? 0 - value : value;
	for (size_t i = 0; i < width; i++)
		bytes[i] = (uint8_t)(value >> 8 * (width - 1 - i));
	buffer_add(out, bytes, width);
	return 1;
}

static int render_int32(const uint8_t *in, size_t size, struct buffer *out)
{
	return render_int(in, size, 4, out);
}

static int parse_int32(const uint8_t *in, size_t size, struct buffer *out)
{
	return parse_int(in, size, 4, out);
}

static int render_int64(const uint8_t *in, size_t size, struct buffer *out)
{
	return render_int(in, size, 8, out);
}

static int parse_int64(const uint8_t *in, size_t size, struct buffer *out)
{
	return parse_int(in, size, 8, out);
}

/* --- hex, uuid ---------------------------------------------------------------------------------------------------- */

static void add_hex(uint8_t byte, struct buffer *out)
{
	static const char digits[] = "0123456789abcdef";
	char text[2] = { digits[byte >> 4], digits[byte & 15] };

	buffer_add(out, text, 2);
}

/* The value of a lower-case hex digit, or -1. */
static int nibble(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int render_hex(const uint8_t *in, size_t size, struct buffer *out)
{
	for (size_t i = 0; i < size; i++)
		add_hex(in[i], out);
	return 1;
}

static int parse_hex(const uint8_t *in, size_t size, struct buffer *out)
{
	if (size % 2)
		return 0;
	for (size_t i = 0; i < size; i += 2) {
		int high = nibble(in[i]), low = nibble(in[i + 1]);
		uint8_t byte;

		if (high < 0 || low < 0)
			return 0;
		byte = (uint8_t)(high << 4 | low);
		buffer_add(out, &byte, 1);
	}
	return 1;
}

/* Whether a hyphen stands before byte i of a UUID. */
static bool uuid_hyphen(size_t i)
{
	return i == 4 || i == 6 || i == 8 || i == 10;
}

static int render_uuid(const uint8_t *in, size_t size, struct buffer *out)
{
	if (size != 16)
		return 0;
	for (size_t i = 0; i < 16; i++) {
		if (uuid_hyphen(i))
			buffer_add(out, "-", 1);
		add_hex(in[i], out);
	}
	return 1;
}

static int parse_uuid(const uint8_t *in, size_t size, struct buffer *out)
{
	if (size != 36)
		return 0;
	for (size_t i = 0; i < 16; i++) {
		if (uuid_hyphen(i) && *in++ != '-')
			return 0;
		if (!parse_hex(in, 2, out))
			return 0;
		in += 2;
	}
	return 1;
}

/* --- base64 ------------------------------------------------------------------------------------------------------- */

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int render_base64(const uint8_t *in, size_t size, struct buffer *out)
{
	for (size_t at = 0; at < size; at += 3) {
		size_t n = size - at < 3 ? size - at : 3;
		uint32_t bits =
			(uint32_t)in[at] << 16 | (n > 1 ? (uint32_t)in[at + 1] << 8 : 0) | (n > 2 ? in[at + 2] : 0);
		char text[4] = "====";

		for (size_t i = 0; i <= n; i++)
			text[i] = base64_digits[bits >> (18 - 6 * i) & 63];
		buffer_add(out, text, 4);
	}
	return 1;
}

static int sextet(uint8_t c)
{
	const char *at = c ? strchr(base64_digits, c) : NULL;

	return at ? (int)(at - base64_digits) : -1;
}

/* Four digits, the last one or two of which may be padding where last. The bits that no byte uses must be 0. */
static int parse_quad(const uint8_t in[4], bool last, struct buffer *out)
{
	size_t pad = !last || in[3] != '=' ? 0 : in[2] != '=' ? 1 : 2;
	uint32_t bits = 0;
	uint8_t bytes[3];

	for (size_t i = 0; i < 4 - pad; i++) {
		int value = sextet(in[i]);

		if (value < 0)
			return 0;
		bits |= (uint32_t)value << (18 - 6 * i);
	}
	if (bits & ((1u << 8 * pad) - 1))
		return 0;
	for (size_t i = 0; i < 3; i++)
		bytes[i] = (uint8_t)(bits >> (16 - 8 * i));
	buffer_add(out, bytes, 3 - pad);
	return 1;
}

static int parse_base64(const uint8_t *in, size_t size, struct buffer *out)
{
	if (size % 4)
		return 0;
	for (size_t at = 0; at < size; at += 4) {
		if (!parse_quad(in + at, at + 4 == size, out))
			return 0;
	}
	return 1;
}

/* --- json --------------------------------------------------------------------------------------------------------- */

/* The characters that have an escape of two, and the letters of those. */
static const char json_plain[] = "\"\\\b\f\n\r\t";
static const char json_letter[] = "\"\\bfnrt";

/*
 * A text becomes a JSON string as RFC 8785 writes it: quotes, backslashes and controls are escaped, in the shortest
 * way, nothing else.
 */
static int parse_json(const uint8_t *in, size_t size, struct buffer *out)
{
	if (!utf8_valid(in, size))
		return 0;
	buffer_add(out, "\"", 1);
	for (size_t i = 0; i < size; i++) {
		const char *found = in[i] ? strchr(json_plain, in[i]) : NULL;

		if (found) {
			buffer_add(out, "\\", 1);
			buffer_add(out, &json_letter[found - json_plain], 1);
		} else if (in[i] < 0x20) {
			buffer_add(out, "\\u00", 4);
			add_hex(in[i], out);
		} else {
			buffer_add(out, &in[i], 1);
		}
	}
	buffer_add(out, "\"", 1);
	return 1;
}

/* The escape at in, behind its backslash: its length and byte, or 0 where it is none or not the canonical one. */
static size_t json_escape(const uint8_t *in, size_t size, uint8_t *byte)
{
	const char *found = size && in[0] ? strchr(json_letter, in[0]) : NULL;

	if (found) {
		*byte = (uint8_t)json_plain[found - json_letter];
		return 1;
	}
	if (size < 5 || memcmp(in, "u00", 3) || nibble(in[3]) < 0 || nibble(in[4]) < 0)
		return 0;
	*byte = (uint8_t)(nibble(in[3]) << 4 | nibble(in[4]));
	if (*byte >= 0x20 || (*byte && strchr(json_plain, *byte)))
		return 0;
	return 5;
}

static int render_json(const uint8_t *in, size_t size, struct buffer *out)
{
	if (size < 2 || in[0] != '"' || in[size - 1] != '"' || !utf8_valid(in, size))
		return 0;
	for (size_t i = 1; i < size - 1; i++) {
		uint8_t byte = in[i];

		if (byte == '\\') {
			size_t length = json_escape(in + i + 1, size - 2 - i, &byte);

			if (!length)
				return 0;
			i += length;
		} else if (byte == '"' || byte < 0x20) {
			return 0;
		}
		buffer_add(out, &byte, 1);
	}
	return 1;
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

static const struct {
	convert *render, *parse;
} formats[KEY_FORMAT_COUNT] = {
	[KEY_FORMAT_RAW] = { copy, copy },
	[KEY_FORMAT_INT32] = { render_int32, parse_int32 },
	[KEY_FORMAT_INT64] = { render_int64, parse_int64 },
	[KEY_FORMAT_UUID] = { render_uuid, parse_uuid },
	[KEY_FORMAT_HEX] = { render_hex, parse_hex },
	[KEY_FORMAT_BASE64] = { render_base64, parse_base64 },
	[KEY_FORMAT_JSON] = { render_json, parse_json },
};

int keyformat_render(enum key_format format, const void *key, size_t size, struct buffer *out)
{
	return formats[format].render(key, size, out);
}

int keyformat_parse(enum key_format format, const void *text, size_t size, struct buffer *out)
{
	return formats[format].parse(text, size, out);
}

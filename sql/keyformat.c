/* keyformat: one pair of functions a format, in one table; bytes as text. */
#include "sql/keyformat.h"

#include <string.h>

#include "sql/keyformat_part.h"

static int copy(const uint8_t *in, size_t size, struct buffer *out)
{
	buffer_add(out, in, size);
	return 1;
}

static int render_line(const uint8_t *in, size_t size, struct buffer *out)
{
	return size && memchr(in, '\n', size) == in + size - 1 && copy(in, size - 1, out);
}

static int parse_line(const uint8_t *in, size_t size, struct buffer *out)
{
	return !(size && memchr(in, '\n', size)) && copy(in, size, out) && copy((const uint8_t *)"\n", 1, out);
}

/* --- hex, uuid ---------------------------------------------------------------------------------------------------- */

void keyformat_add_hex(uint8_t byte, struct buffer *out)
{
	static const char digits[] = "0123456789abcdef";
	char text[2] = { digits[byte >> 4], digits[byte & 15] };

	buffer_add(out, text, 2);
}

/* The value of a lower-case hex digit, or -1. */
int keyformat_nibble(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int render_hex(const uint8_t *in, size_t size, struct buffer *out)
{
	for (size_t i = 0; i < size; i++)
		keyformat_add_hex(in[i], out);
	return 1;
}

static int parse_hex(const uint8_t *in, size_t size, struct buffer *out)
{
	if (size % 2)
		return 0;
	for (size_t i = 0; i < size; i += 2) {
		int high = keyformat_nibble(in[i]), low = keyformat_nibble(in[i + 1]);
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
		keyformat_add_hex(in[i], out);
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

/* Changes the case of a UUID's letters; what has letters of the other case already is none. */
static int flip_case(const uint8_t *in, size_t size, bool upper, struct buffer *out)
{
	uint8_t text[36];

	if (size != sizeof(text))
		return 0;
	for (size_t i = 0; i < size; i++) {
		bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
		uint8_t flipped = in[i] ^ 0x20;
		bool letter = upper ? in[i] >= 'A' && in[i] <= 'F' : in[i] >= 'a' && in[i] <= 'f';

		if (hyphen ? in[i] != '-' : !letter && (in[i] < '0' || in[i] > '9'))
			return 0;
		text[i] = letter ? flipped : in[i];
	}
	buffer_add(out, text, size);
	return 1;
}

static int render_uuid_upper(const uint8_t *in, size_t size, struct buffer *out)
{
	return flip_case(in, size, true, out);
}

static int parse_uuid_upper(const uint8_t *in, size_t size, struct buffer *out)
{
	return flip_case(in, size, false, out);
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

/* --- all ---------------------------------------------------------------------------------------------------------- */

#define PAIR(name) { keyformat_render_##name, keyformat_parse_##name }
static const struct {
	keyformat_convert *render, *parse;
} converts[KEY_FORMAT_COUNT] = {
	[KEY_FORMAT_RAW] = { copy, copy },
	[KEY_FORMAT_INT32] = PAIR(int32),
	[KEY_FORMAT_INT64] = PAIR(int64),
	[KEY_FORMAT_INT32_LE] = PAIR(int32_le),
	[KEY_FORMAT_INT64_LE] = PAIR(int64_le),
	[KEY_FORMAT_DOUBLE] = PAIR(double),
	[KEY_FORMAT_UUID] = { render_uuid, parse_uuid },
	[KEY_FORMAT_UUID_UPPER] = { render_uuid_upper, parse_uuid_upper },
	[KEY_FORMAT_HEX] = { render_hex, parse_hex },
	[KEY_FORMAT_BASE64] = { render_base64, parse_base64 },
	[KEY_FORMAT_JSON] = PAIR(json),
	[KEY_FORMAT_LINE] = { render_line, parse_line },
	[KEY_FORMAT_CONFLUENT_AVRO_STRING] = PAIR(avro_string),
	[KEY_FORMAT_CONFLUENT_AVRO_LONG] = PAIR(avro_long),
	[KEY_FORMAT_CONFLUENT_JSON] = PAIR(json),
	[KEY_FORMAT_CONFLUENT_RAW] = { copy, copy },
	[KEY_FORMAT_CONFLUENT_PROTOBUF_STRING] = PAIR(protobuf_string),
	[KEY_FORMAT_CONFLUENT_PROTOBUF_LONG] = PAIR(protobuf_long),
	[KEY_FORMAT_GLUE_AVRO_STRING] = PAIR(avro_string),
	[KEY_FORMAT_GLUE_AVRO_LONG] = PAIR(avro_long),
	[KEY_FORMAT_GLUE_JSON] = PAIR(json),
	[KEY_FORMAT_GLUE_RAW] = { copy, copy },
};

static const struct {
	const char *word, *what;
	enum key_prefix prefix;
} formats[KEY_FORMAT_COUNT] = {
#define X(name, word, prefix, what) { word, what, KEY_PREFIX_##prefix },
	KEY_FORMATS(X)
#undef X
};

const char *key_format_word(enum key_format format)
{
	return formats[format].word;
}

const char *key_format_what(enum key_format format)
{
	return formats[format].what;
}

bool key_format_by_word(const char *word, enum key_format *format)
{
	for (int f = 0; f < KEY_FORMAT_COUNT; f++) {
		if (strcmp(formats[f].word, word) != 0)
			continue;
		*format = (enum key_format)f;
		return true;
	}
	return false;
}

enum key_prefix key_format_prefix_kind(enum key_format format)
{
	return formats[format].prefix;
}

size_t key_format_prefix(enum key_format format)
{
	static const size_t sizes[] = {
		[KEY_PREFIX_NONE] = 0, [KEY_PREFIX_CONFLUENT] = 5, [KEY_PREFIX_MESSAGE] = 6, [KEY_PREFIX_GLUE] = 18
	};

	return sizes[formats[format].prefix];
}

bool key_format_has_prefix(enum key_format format, const void *key, size_t size)
{
	const uint8_t *bytes = key;

	if (size < key_format_prefix(format))
		return false;
	switch (formats[format].prefix) {
	case KEY_PREFIX_NONE:
		return true;
	case KEY_PREFIX_CONFLUENT:
		return bytes[0] == 0;
	case KEY_PREFIX_MESSAGE:
		return bytes[0] == 0 && bytes[5] == 0;
	case KEY_PREFIX_GLUE:
		return bytes[0] == 3 && bytes[1] == 0;
	}
	return false;
}

int keyformat_render(enum key_format format, const void *key, size_t size, struct buffer *out)
{
	size_t prefix = key_format_prefix(format);

	if (!key_format_has_prefix(format, key, size))
		return 0;
	return converts[format].render((const uint8_t *)key + prefix, size - prefix, out);
}

int keyformat_parse(enum key_format format, const void *text, size_t size, struct buffer *out)
{
	return converts[format].parse(text, size, out);
}

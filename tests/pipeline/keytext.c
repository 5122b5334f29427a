/* From a Kafka key to the Redis key that holds its state, and the name of an epoch. */
#include "keytext.h"

#include <inttypes.h>
#include <string.h>

static uint64_t big_endian(struct bytes b)
{
	uint64_t n = 0;

	for (size_t i = 0; i < b.len; i++)
		n = n << 8 | (unsigned char)b.data[i];
	return n;
}

static bool text_int32(struct bytes key, struct buf *b)
{
	if (key.len != 4)
		return false;
	buf_format(b, "%" PRId32, (int32_t)big_endian(key));
	return true;
}

static bool text_int64(struct bytes key, struct buf *b)
{
	if (key.len != 8)
		return false;
	buf_format(b, "%" PRId64, (int64_t)big_endian(key));
	return true;
}

static bool text_hex(struct bytes key, struct buf *b)
{
	for (size_t i = 0; i < key.len; i++)
		buf_format(b, "%02x", (unsigned char)key.data[i]);
	return true;
}

static bool text_uuid(struct bytes key, struct buf *b)
{
	if (key.len != 16)
		return false;
	for (size_t i = 0; i < key.len; i++)
		buf_format(b, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", (unsigned char)key.data[i]);
	return true;
}

static bool text_base64(struct bytes key, struct buf *b)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < key.len; i += 3) {
		size_t left = key.len - i;
		uint32_t group = (uint32_t)big_endian((struct bytes){ key.data + i, left < 3 ? left : 3 });

		group <<= left == 1 ? 16 : left == 2 ? 8 : 0;
		buf_add(b, &digits[group >> 18 & 63], 1);
		buf_add(b, &digits[group >> 12 & 63], 1);
		buf_add(b, left > 1 ? &digits[group >> 6 & 63] : "=", 1);
		buf_add(b, left > 2 ? &digits[group & 63] : "=", 1);
	}
	return true;
}

/* A JSON string without escapes loses its quotes. */
static bool text_json(struct bytes key, struct buf *b)
{
	if (key.len < 2 || key.data[0] != '"' || key.data[key.len - 1] != '"' || memchr(key.data, '\\', key.len))
		return false;
	buf_add(b, key.data + 1, key.len - 2);
	return true;
}

static bool text_raw(struct bytes key, struct buf *b)
{
	buf_add(b, key.data, key.len);
	return true;
}

static bool key_text(const char *format, struct bytes key, struct buf *b)
{
	static const char *const names[] = { "raw", "int32", "int64", "uuid", "hex", "base64", "json", NULL };
	static bool (*const texts[])(struct bytes, struct buf *) = { text_raw, text_int32,  text_int64, text_uuid,
								     text_hex, text_base64, text_json };

	return texts[opts_choice("--key-format", format, names)](key, b);
}

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

bool keytext_state(const struct common *c, struct bytes key, struct buf *b)
{
	buf_clear(b);
	for (const char *t = c->key; *t;) {
		if (starts(t, "{{") || starts(t, "}}")) {
			buf_add(b, t, 1);
			t += 2;
		} else if (starts(t, "{key}")) {
			if (!key_text(c->key_format, key, b))
				return false;
			t += strlen("{key}");
		} else if (starts(t, "{topic}")) {
			buf_text(b, c->topic);
			t += strlen("{topic}");
		} else {
			buf_add(b, t++, 1);
		}
	}
	return true;
}

void keytext_epoch(const struct common *c, int32_t partition, struct buf *b)
{
	buf_clear(b);
	for (const char *t = c->epoch; *t;) {
		if (starts(t, "{{") || starts(t, "}}")) {
			buf_add(b, t, 1);
			t += 2;
		} else if (starts(t, "{topic}")) {
			buf_text(b, c->topic);
			t += strlen("{topic}");
		} else if (starts(t, "{partition}")) {
			buf_format(b, "%" PRId32, partition);
			t += strlen("{partition}");
		} else {
			buf_add(b, t++, 1);
		}
	}
}

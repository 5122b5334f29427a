/* Record key <-> Redis key: known pairs, what has no counterpart, and both directions on random bytes. */
#include "ingest/template.h"

#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sql/keyformat.h"

enum { RANDOM_KEYS = 20000, KEY_MAX = 40 };

/* --- formats ------------------------------------------------------------------------------------------------------ */

struct pair {
	enum key_format format;
	const char *key;
	size_t size;
	const char *text; /* NULL: the key has none */
};

#define KEY(literal) literal, sizeof(literal) - 1

static const struct pair pairs[] = {
	{ KEY_FORMAT_RAW, KEY(""), "" },
	{ KEY_FORMAT_RAW, KEY("user-42"), "user-42" },
	{ KEY_FORMAT_INT32, KEY("\0\0\0\x2a"), "42" },
	{ KEY_FORMAT_INT32, KEY("\xff\xff\xff\xff"), "-1" },
	{ KEY_FORMAT_INT32, KEY("\x80\0\0\0"), "-2147483648" },
	{ KEY_FORMAT_INT32, KEY("\x7f\xff\xff\xff"), "2147483647" },
	{ KEY_FORMAT_INT32, KEY("\0\0\0\0"), "0" },
	{ KEY_FORMAT_INT32, KEY("\0\0\x2a"), NULL },
	{ KEY_FORMAT_INT32, KEY("\0\0\0\0\0\0\0\x2a"), NULL },
	{ KEY_FORMAT_INT64, KEY("\0\0\0\0\0\0\0\x2a"), "42" },
	{ KEY_FORMAT_INT64, KEY("\x80\0\0\0\0\0\0\0"), "-9223372036854775808" },
	{ KEY_FORMAT_INT64, KEY("\x7f\xff\xff\xff\xff\xff\xff\xff"), "9223372036854775807" },
	{ KEY_FORMAT_INT64, KEY("\0\0\0\0\x2a"), NULL },
	{ KEY_FORMAT_INT64, KEY(""), NULL },
	{ KEY_FORMAT_UUID, KEY("\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef"),
	  "01234567-89ab-cdef-0123-456789abcdef" },
	{ KEY_FORMAT_UUID, KEY("01234567-89ab-cdef-0123-456789abcdef"), NULL },
	{ KEY_FORMAT_HEX, KEY(""), "" },
	{ KEY_FORMAT_HEX, KEY("\0\xff\x10"), "00ff10" },
	{ KEY_FORMAT_BASE64, KEY(""), "" },
	{ KEY_FORMAT_BASE64, KEY("f"), "Zg==" },
	{ KEY_FORMAT_BASE64, KEY("fo"), "Zm8=" },
	{ KEY_FORMAT_BASE64, KEY("foo"), "Zm9v" },
	{ KEY_FORMAT_BASE64, KEY("foobar"), "Zm9vYmFy" },
	{ KEY_FORMAT_BASE64, KEY("\xfb\xff\xfe"), "+//+" },
	{ KEY_FORMAT_JSON, KEY("\"42\""), "42" },
	{ KEY_FORMAT_JSON, KEY("\"\""), "" },
	{ KEY_FORMAT_JSON, KEY("\"a\\\"b\\\\c\""), "a\"b\\c" },
	{ KEY_FORMAT_JSON, KEY("\"\\n\\t\\b\\f\\r\\u001f\""), "\n\t\b\f\r\x1f" },
	{ KEY_FORMAT_JSON, KEY("\"\xc3\xa9/\x7f\""), "\xc3\xa9/\x7f" },
	{ KEY_FORMAT_JSON, KEY("42"), NULL },
	{ KEY_FORMAT_JSON, KEY("{\"id\":42}"), NULL },
	{ KEY_FORMAT_JSON, KEY("\""), NULL },
	{ KEY_FORMAT_JSON, KEY(""), NULL },
	{ KEY_FORMAT_JSON, KEY("\"a"), NULL },
	{ KEY_FORMAT_JSON, KEY("\"a\\\""), NULL }, /* the last quote is escaped */
	{ KEY_FORMAT_JSON, KEY("\"a\"b\""), NULL },
	{ KEY_FORMAT_JSON, KEY("\"\\/\""), NULL }, /* escapes that RFC 8785 does not write */
	{ KEY_FORMAT_JSON, KEY("\"\\u000a\""), NULL },
	{ KEY_FORMAT_JSON, KEY("\"\\u001F\""), NULL },
	{ KEY_FORMAT_JSON, KEY("\"\\u00e9\""), NULL },
	{ KEY_FORMAT_JSON, KEY("\"\\u0041\""), NULL },
	{ KEY_FORMAT_JSON, KEY("\"\n\""), NULL },
	{ KEY_FORMAT_JSON, KEY("\"\xff\""), NULL },
	{ KEY_FORMAT_INT32_LE, KEY("\x2a\0\0\0"), "42" },
	{ KEY_FORMAT_INT32_LE, KEY("\0\0\0\x80"), "-2147483648" },
	{ KEY_FORMAT_INT64_LE, KEY("\x2a\0\0\0\0\0\0\0"), "42" },
	{ KEY_FORMAT_INT64_LE, KEY("\xff\xff\xff\xff\xff\xff\xff\xff"), "-1" },
	{ KEY_FORMAT_INT64_LE, KEY("\x2a\0\0\0"), NULL },
	{ KEY_FORMAT_DOUBLE, KEY("\x40\x45\0\0\0\0\0\0"), "42" },
	{ KEY_FORMAT_DOUBLE, KEY("\0\0\0\0\0\0\0\0"), "0" },
	{ KEY_FORMAT_DOUBLE, KEY("\xbf\xe0\0\0\0\0\0\0"), "-0.5" },
	{ KEY_FORMAT_DOUBLE, KEY("\x3f\xb9\x99\x99\x99\x99\x99\x9a"), "0.1" },
	{ KEY_FORMAT_DOUBLE, KEY("\x3f\xd3\x33\x33\x33\x33\x33\x34"), "0.30000000000000004" },
	{ KEY_FORMAT_DOUBLE, KEY("\x44\x1a\xc5\x3a\x7e\x04\xbc\xda"), "123456789012345680000" },
	{ KEY_FORMAT_DOUBLE, KEY("\x44\x4b\x1a\xe4\xd6\xe2\xef\x50"), "1e+21" },
	{ KEY_FORMAT_DOUBLE, KEY("\x3e\xb0\xc6\xf7\xa0\xb5\xed\x8d"), "0.000001" },
	{ KEY_FORMAT_DOUBLE, KEY("\x3e\x7a\xd7\xf2\x9a\xbc\xaf\x48"), "1e-7" },
	{ KEY_FORMAT_DOUBLE, KEY("\0\0\0\0\0\0\0\x01"), "5e-324" },
	{ KEY_FORMAT_DOUBLE, KEY("\x0d\x70\0\0\0\0\0\0"), "5.858190679279809e-244" }, /* a power of two */
	{ KEY_FORMAT_DOUBLE, KEY("\xff\xef\xff\xff\xff\xff\xff\xff"), "-1.7976931348623157e+308" },
	{ KEY_FORMAT_DOUBLE, KEY("\x80\0\0\0\0\0\0\0"), NULL },     /* -0 */
	{ KEY_FORMAT_DOUBLE, KEY("\x7f\xf0\0\0\0\0\0\0"), NULL },   /* infinity */
	{ KEY_FORMAT_DOUBLE, KEY("\x7f\xf8\0\0\0\0\0\0"), NULL },   /* NaN */
	{ KEY_FORMAT_DOUBLE, KEY("\x40\x45\0\0"), NULL },
	{ KEY_FORMAT_UUID_UPPER, KEY("01234567-89AB-CDEF-0123-456789ABCDEF"), "01234567-89ab-cdef-0123-456789abcdef" },
	{ KEY_FORMAT_UUID_UPPER, KEY("01234567-89aB-CDEF-0123-456789ABCDEF"), NULL },
	{ KEY_FORMAT_UUID_UPPER, KEY("0123456789AB-CDEF-0123-456789ABCDEF-"), NULL },
	{ KEY_FORMAT_LINE, KEY("42\n"), "42" },
	{ KEY_FORMAT_LINE, KEY("\n"), "" },
	{ KEY_FORMAT_LINE, KEY("42"), NULL },
	{ KEY_FORMAT_LINE, KEY("4\n2\n"), NULL },
	{ KEY_FORMAT_CONFLUENT_AVRO_STRING, KEY("\0\0\0\0\x01\x04" "42"), "42" },
	{ KEY_FORMAT_CONFLUENT_AVRO_STRING, KEY("\0\0\0\x01\x2c\0"), "" },
	{ KEY_FORMAT_CONFLUENT_AVRO_STRING, KEY("\0\0\0\0\x01\x06" "42"), NULL },
	{ KEY_FORMAT_CONFLUENT_AVRO_STRING, KEY("\0\0\0\0\x01\x05" "42"), NULL }, /* a length below 0 */
	{ KEY_FORMAT_CONFLUENT_AVRO_STRING, KEY("\0\0\0\0\x01\x84\0" "42"), NULL },
	{ KEY_FORMAT_CONFLUENT_AVRO_STRING, KEY("\x01\0\0\0\x01\x04" "42"), NULL },
	{ KEY_FORMAT_CONFLUENT_AVRO_STRING, KEY("\0\0\0\0\x01"), NULL },
	{ KEY_FORMAT_CONFLUENT_AVRO_STRING, KEY(""), NULL },
	{ KEY_FORMAT_CONFLUENT_AVRO_LONG, KEY("\0\0\0\0\x01\x54"), "42" },
	{ KEY_FORMAT_CONFLUENT_AVRO_LONG, KEY("\0\0\0\0\x01\x53"), "-42" },
	{ KEY_FORMAT_CONFLUENT_AVRO_LONG, KEY("\0\0\0\0\x01\0"), "0" },
	{ KEY_FORMAT_CONFLUENT_AVRO_LONG, KEY("\0\0\0\0\x01\x80\x01"), "64" },
	{ KEY_FORMAT_CONFLUENT_AVRO_LONG, KEY("\0\0\0\0\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
	  "-9223372036854775808" },
	{ KEY_FORMAT_CONFLUENT_AVRO_LONG, KEY("\0\0\0\0\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), NULL },
	{ KEY_FORMAT_CONFLUENT_AVRO_LONG, KEY("\0\0\0\0\x01\xd4\0"), NULL },
	{ KEY_FORMAT_CONFLUENT_AVRO_LONG, KEY("\0\0\0\0\x01\x54\0"), NULL },
	{ KEY_FORMAT_CONFLUENT_JSON, KEY("\0\0\0\0\x07\"42\""), "42" },
	{ KEY_FORMAT_CONFLUENT_JSON, KEY("\0\0\0\0\x07" "42"), NULL },
	{ KEY_FORMAT_CONFLUENT_RAW, KEY("\0\0\0\0\x07" "42"), "42" },
	{ KEY_FORMAT_CONFLUENT_PROTOBUF_STRING, KEY("\0\0\0\0\x01\0\x0a\x02" "42"), "42" },
	{ KEY_FORMAT_CONFLUENT_PROTOBUF_STRING, KEY("\0\0\0\0\x01\0"), "" },
	{ KEY_FORMAT_CONFLUENT_PROTOBUF_STRING, KEY("\0\0\0\0\x01\0\x0a\0"), NULL },
	{ KEY_FORMAT_CONFLUENT_PROTOBUF_STRING, KEY("\0\0\0\0\x01\x02\0\x0a\x02" "42"), NULL },
	{ KEY_FORMAT_CONFLUENT_PROTOBUF_LONG, KEY("\0\0\0\0\x01\0\x08\x2a"), "42" },
	{ KEY_FORMAT_CONFLUENT_PROTOBUF_LONG, KEY("\0\0\0\0\x01\0"), "0" },
	{ KEY_FORMAT_CONFLUENT_PROTOBUF_LONG, KEY("\0\0\0\0\x01\0\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "-1" },
	{ KEY_FORMAT_CONFLUENT_PROTOBUF_LONG, KEY("\0\0\0\0\x01\0\x08\0"), NULL },
	{ KEY_FORMAT_GLUE_AVRO_STRING, KEY("\x03\0" "0123456789abcdef\x04" "42"), "42" },
	{ KEY_FORMAT_GLUE_AVRO_STRING, KEY("\x03\x05" "0123456789abcdef\x04" "42"), NULL }, /* compressed */
	{ KEY_FORMAT_GLUE_AVRO_LONG, KEY("\x03\0" "0123456789abcdef\x54"), "42" },
	{ KEY_FORMAT_GLUE_JSON, KEY("\x03\0" "0123456789abcdef\"42\""), "42" },
	{ KEY_FORMAT_GLUE_RAW, KEY("\x03\0" "0123456789abcdef" "42"), "42" },
	{ KEY_FORMAT_GLUE_RAW, KEY("\x03\0" "0123456789abcde"), NULL },
};

static void test_pairs(void **state)
{
	struct buffer out = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const struct pair *p = &pairs[i];

		buffer_clear(&out);
		if (!p->text) {
			assert_false(keyformat_render(p->format, p->key, p->size, &out));
			continue;
		}
		assert_true(keyformat_render(p->format, p->key, p->size, &out));
		assert_int_equal(out.size, strlen(p->text));
		if (out.size)
			assert_memory_equal(out.data, p->text, out.size);
		buffer_clear(&out);
		assert_true(keyformat_parse(p->format, p->text, strlen(p->text), &out));
		assert_int_equal(out.size, p->size - key_format_prefix(p->format));
		if (out.size)
			assert_memory_equal(out.data, p->key + key_format_prefix(p->format), out.size);
	}
	buffer_release(&out);
}

static const struct {
	enum key_format format;
	const char *text;
} not_canonical[] = {
	{ KEY_FORMAT_INT64, "" },
	{ KEY_FORMAT_INT64, "-" },
	{ KEY_FORMAT_INT64, "007" },
	{ KEY_FORMAT_INT64, "+7" },
	{ KEY_FORMAT_INT64, "-0" },
	{ KEY_FORMAT_INT64, " 7" },
	{ KEY_FORMAT_INT64, "7 " },
	{ KEY_FORMAT_INT64, "7.0" },
	{ KEY_FORMAT_INT64, "1e3" },
	{ KEY_FORMAT_INT64, "9223372036854775808" },
	{ KEY_FORMAT_INT64, "-9223372036854775809" },
	{ KEY_FORMAT_INT64, "18446744073709551616" },
	{ KEY_FORMAT_INT64, "99999999999999999999999" },
	{ KEY_FORMAT_INT32, "2147483648" },
	{ KEY_FORMAT_INT32, "-2147483649" },
	{ KEY_FORMAT_INT32, "4294967338" },
	{ KEY_FORMAT_UUID, "01234567-89AB-cdef-0123-456789abcdef" },
	{ KEY_FORMAT_UUID, "0123456789abcdef0123456789abcdef" },
	{ KEY_FORMAT_UUID, "01234567-89ab-cdef-0123-456789abcde" },
	{ KEY_FORMAT_UUID, "01234567089ab-cdef-0123-456789abcdef" },
	{ KEY_FORMAT_UUID, "{1234567-89ab-cdef-0123-456789abcde}" },
	{ KEY_FORMAT_HEX, "0" },
	{ KEY_FORMAT_HEX, "0F" },
	{ KEY_FORMAT_HEX, "0g" },
	{ KEY_FORMAT_BASE64, "Zg" },
	{ KEY_FORMAT_BASE64, "Zg=" },
	{ KEY_FORMAT_BASE64, "Zh==" }, /* bits that no byte uses */
	{ KEY_FORMAT_BASE64, "Zm9=" },
	{ KEY_FORMAT_BASE64, "Z===" },
	{ KEY_FORMAT_BASE64, "====" },
	{ KEY_FORMAT_BASE64, "Zg==Zg==" },
	{ KEY_FORMAT_BASE64, "Zm-_" },
	{ KEY_FORMAT_DOUBLE, "" },
	{ KEY_FORMAT_DOUBLE, "42.0" },
	{ KEY_FORMAT_DOUBLE, "042" },
	{ KEY_FORMAT_DOUBLE, "+42" },
	{ KEY_FORMAT_DOUBLE, "4.2e1" },
	{ KEY_FORMAT_DOUBLE, "1e21" },
	{ KEY_FORMAT_DOUBLE, "1E+21" },
	{ KEY_FORMAT_DOUBLE, "0.1000000000000000055" },
	{ KEY_FORMAT_DOUBLE, "-0" },
	{ KEY_FORMAT_DOUBLE, "1e+400" },
	{ KEY_FORMAT_DOUBLE, "NaN" },
	{ KEY_FORMAT_DOUBLE, "Infinity" },
	{ KEY_FORMAT_DOUBLE, "0x10" },
	{ KEY_FORMAT_DOUBLE, "0000000000000000000000000000000000000000001" },
	{ KEY_FORMAT_LINE, "4\n2" },
	{ KEY_FORMAT_UUID_UPPER, "01234567-89AB-cdef-0123-456789abcdef" },
	{ KEY_FORMAT_CONFLUENT_AVRO_LONG, "007" },
	{ KEY_FORMAT_CONFLUENT_PROTOBUF_LONG, "9223372036854775808" },
	{ KEY_FORMAT_JSON, "\xff" },
	{ KEY_FORMAT_JSON, "\xed\xa0\x80" }, /* a surrogate */
};

static void test_not_canonical(void **state)
{
	struct buffer out = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(not_canonical) / sizeof(not_canonical[0]); i++) {
		const char *text = not_canonical[i].text;

		if (keyformat_parse(not_canonical[i].format, text, strlen(text), &out))
			fail_msg("%s: '%s' parses", key_format_word(not_canonical[i].format), text);
	}
	buffer_release(&out);
}

/* --- both ways on random bytes ------------------------------------------------------------------------------------ */

static uint64_t next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Bytes of which formats often take some: any, printable, digits, hex, base64, JSON-like. */
static size_t random_bytes(uint64_t *seed, uint8_t *out)
{
	static const char *const alphabets[] = { NULL,	    "abc:{}[]*?\\", "-0123456789", "0123456789abcdef-",
						 "ABab+/=", "\"\\bnu01f\n" };
	const char *letters = alphabets[next(seed) % (sizeof(alphabets) / sizeof(alphabets[0]))];
	static const size_t sizes[] = { 4, 8, 16, 36 };
	size_t size = next(seed) % 2 ? next(seed) % KEY_MAX : sizes[next(seed) % 4];

	for (size_t i = 0; i < size; i++)
		out[i] = letters ? (uint8_t)letters[next(seed) % strlen(letters)] : (uint8_t)next(seed);
	if (letters && letters[0] == '"' && size > 1)
		out[0] = out[size - 1] = '"';
	return size;
}

static const char *const templates[] = { "state:{key}",	      "{key}",	  "{topic}:{key}:state",
					 "{{{topic}}}:{key}", "a{key}aa", "s*[x]?\\{key}\\" };

/* Writes a prefix of the format before the bytes, which have room there. Where it begins. */
static const uint8_t *with_prefix(enum key_format format, uint8_t *bytes)
{
	size_t prefix = key_format_prefix(format);

	memset(bytes - prefix, 0, prefix);
	if (prefix == KEY_PREFIX_MOST)
		bytes[-KEY_PREFIX_MOST] = 3;
	return bytes - prefix;
}

/* Random bytes are next to never of it: lengths that must be right, hyphens and newlines at their places. */
static bool is_seldom(enum key_format format)
{
	return format == KEY_FORMAT_UUID_UPPER || format == KEY_FORMAT_LINE ||
	       format == KEY_FORMAT_CONFLUENT_AVRO_STRING || format == KEY_FORMAT_GLUE_AVRO_STRING ||
	       format == KEY_FORMAT_CONFLUENT_PROTOBUF_STRING;
}

static void test_render_then_parse(void **state)
{
	struct buffer redis = { 0 }, back = { 0 };
	uint64_t seed = 0x9e3779b97f4a7c15;
	size_t rendered[KEY_FORMAT_COUNT] = { 0 };
	uint8_t bytes[KEY_PREFIX_MOST + KEY_MAX];

	(void)state;
	for (size_t i = 0; i < RANDOM_KEYS; i++) {
		struct key_template *t = template_new(templates[i % (sizeof(templates) / sizeof(templates[0]))], NULL);
		size_t size = random_bytes(&seed, bytes + KEY_PREFIX_MOST);

		for (size_t f = 0; f < KEY_FORMAT_COUNT; f++) {
			size_t prefix = key_format_prefix((enum key_format)f);
			const uint8_t *key = with_prefix((enum key_format)f, bytes + KEY_PREFIX_MOST);

			if (!template_render(t, (enum key_format)f, "or*ders", key, prefix + size, &redis))
				continue;
			rendered[f]++;
			assert_true(template_parse(t, (enum key_format)f, "or*ders", redis.data, redis.size, &back));
			assert_int_equal(back.size, size);
			if (size)
				assert_memory_equal(back.data, key + prefix, size);
		}
		template_free(t);
	}
	for (size_t f = 0; f < KEY_FORMAT_COUNT; f++)
		assert_true(is_seldom((enum key_format)f) || rendered[f] > 100);
	buffer_release(&redis);
	buffer_release(&back);
}

static void test_parse_then_render(void **state)
{
	struct buffer key = { 0 }, whole = { 0 }, back = { 0 };
	uint64_t seed = 0x2545f4914f6cdd1d;
	size_t parsed[KEY_FORMAT_COUNT] = { 0 };
	uint8_t text[KEY_MAX], room[KEY_PREFIX_MOST];

	(void)state;
	for (size_t i = 0; i < RANDOM_KEYS; i++) {
		size_t size = random_bytes(&seed, text);

		for (size_t f = 0; f < KEY_FORMAT_COUNT; f++) {
			buffer_clear(&key);
			buffer_clear(&whole);
			buffer_clear(&back);
			if (!keyformat_parse((enum key_format)f, text, size, &key))
				continue;
			parsed[f]++;
			buffer_add(&whole, with_prefix((enum key_format)f, room + KEY_PREFIX_MOST),
				   key_format_prefix((enum key_format)f));
			buffer_add(&whole, key.data, key.size);
			assert_true(keyformat_render((enum key_format)f, whole.data, whole.size, &back));
			assert_int_equal(back.size, size);
			if (size)
				assert_memory_equal(back.data, text, size);
		}
	}
	for (size_t f = 0; f < KEY_FORMAT_COUNT; f++) {
		if (f != KEY_FORMAT_UUID && f != KEY_FORMAT_UUID_UPPER)
			assert_true(parsed[f] > 50);
	}
	buffer_release(&key);
	buffer_release(&whole);
	buffer_release(&back);
}

/* --- templates ---------------------------------------------------------------------------------------------------- */

static void assert_bytes(const struct buffer *b, const char *text)
{
	assert_int_equal(b->size, strlen(text));
	assert_memory_equal(b->data, text, b->size);
}

static void test_marks(void **state)
{
	struct key_template *t = template_new("{{{topic}}}:{key}:x", NULL);
	struct key_template *epoch = template_new("epoch:{topic}:{partition}", NULL);
	struct buffer out = { 0 };

	(void)state;
	assert_true(template_has_topic(t) && template_has_key(t) && !template_has_partition(t));
	assert_true(template_has_topic(epoch) && !template_has_key(epoch) && template_has_partition(epoch));
	assert_string_equal(template_text(t), "{{{topic}}}:{key}:x");
	assert_true(template_render(t, KEY_FORMAT_RAW, "orders", "a\0b", 3, &out));
	assert_int_equal(out.size, 14);
	assert_memory_equal(out.data, "{orders}:a\0b:x", 14);
	assert_true(template_parse(t, KEY_FORMAT_RAW, "orders", "{orders}::x", 11, &out));
	assert_int_equal(out.size, 0);
	assert_false(template_parse(t, KEY_FORMAT_RAW, "orders", "{orders}:x", 10,
				    &out)); /* prefix and suffix may not share the colon */
	assert_false(template_parse(t, KEY_FORMAT_RAW, "order", "{orders}:a:x", 12, &out));
	assert_false(template_parse(t, KEY_FORMAT_RAW, "orders", "", 0, &out));
	template_render_partition(epoch, "orders", 12, &out);
	assert_bytes(&out, "epoch:orders:12");
	assert_false(template_parse(epoch, KEY_FORMAT_RAW, "orders", "epoch:orders:12", 15, &out));
	buffer_release(&out);
	template_free(t);
	template_free(epoch);
}

static void test_prefix_and_match(void **state)
{
	static const struct {
		const char *text, *prefix, *match;
	} cases[] = {
		{ "state:{key}", "state:", "state:*" },
		{ "{key}", "", "*" },
		{ "{topic}:{key}:x", "or.ders:", "or.ders:*:x" },
		{ "a*b?[c]\\{key}]", "a*b?[c]\\", "a\\*b\\?\\[c\\]\\\\*\\]" },
		{ "{{{key}}}", "{", "{*}" },
		{ "epoch:{topic}:{partition}", "epoch:or.ders:", "epoch:or.ders:*" },
		{ "fixed", "fixed", "fixed" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct key_template *t = template_new(cases[i].text, NULL);
		struct buffer out = { 0 };
		size_t size;
		char *text = template_prefix(t, "or.ders", &size);

		assert_string_equal(text, cases[i].prefix);
		assert_int_equal(size, strlen(text));
		free(text);
		text = template_match(t, "or.ders", &size);
		assert_string_equal(text, cases[i].match);
		assert_int_equal(size, strlen(text));
		if (template_has_key(t)) {
			assert_true(template_render(t, KEY_FORMAT_RAW, "or.ders", "k[*]", 4, &out));
			buffer_add(&out, "", 1);
			assert_int_equal(fnmatch(text, (char *)out.data, 0), 0);
		}
		buffer_release(&out);
		free(text);
		template_free(t);
	}
}

static void test_malformed(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "", "an empty template" },
		{ "state:{key",
		  "at character 7: a brace that begins no mark; valid: {key}, {topic}, {partition}; {{ and }} for "
		  "braces" },
		{ "state:{}",
		  "at character 7: a brace that begins no mark; valid: {key}, {topic}, {partition}; {{ and }} for "
		  "braces" },
		{ "{Key}",
		  "at character 1: a brace that begins no mark; valid: {key}, {topic}, {partition}; {{ and }} for "
		  "braces" },
		{ "{key}}",
		  "at character 6: a brace that begins no mark; valid: {key}, {topic}, {partition}; {{ and }} for "
		  "braces" },
		{ "{",
		  "at character 1: a brace that begins no mark; valid: {key}, {topic}, {partition}; {{ and }} for "
		  "braces" },
		{ "{key}:{key}", "at character 7: {key} a second time" },
		{ "{key}:{partition}", "{key} and {partition} in one template" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct trouble t = { "" };

		assert_null(template_new(cases[i].text, &t));
		assert_string_equal(t.text, cases[i].words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_not_canonical),
		cmocka_unit_test(test_render_then_parse),
		cmocka_unit_test(test_parse_then_render),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_prefix_and_match),
		cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

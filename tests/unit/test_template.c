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

#include "ingest/keyformat.h"

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
		assert_int_equal(out.size, p->size);
		if (out.size)
			assert_memory_equal(out.data, p->key, out.size);
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

static void test_render_then_parse(void **state)
{
	struct buffer redis = { 0 }, back = { 0 };
	uint64_t seed = 0x9e3779b97f4a7c15;
	size_t rendered[KEY_FORMAT_COUNT] = { 0 };
	uint8_t key[KEY_MAX];

	(void)state;
	for (size_t i = 0; i < RANDOM_KEYS; i++) {
		struct key_template *t = template_new(templates[i % (sizeof(templates) / sizeof(templates[0]))], NULL);
		size_t size = random_bytes(&seed, key);

		for (size_t f = 0; f < KEY_FORMAT_COUNT; f++) {
			if (!template_render(t, (enum key_format)f, "or*ders", key, size, &redis))
				continue;
			rendered[f]++;
			assert_true(template_parse(t, (enum key_format)f, "or*ders", redis.data, redis.size, &back));
			assert_int_equal(back.size, size);
			if (size)
				assert_memory_equal(back.data, key, size);
		}
		template_free(t);
	}
	for (size_t f = 0; f < KEY_FORMAT_COUNT; f++)
		assert_true(rendered[f] > 100);
	buffer_release(&redis);
	buffer_release(&back);
}

static void test_parse_then_render(void **state)
{
	struct buffer key = { 0 }, back = { 0 };
	uint64_t seed = 0x2545f4914f6cdd1d;
	size_t parsed[KEY_FORMAT_COUNT] = { 0 };
	uint8_t text[KEY_MAX];

	(void)state;
	for (size_t i = 0; i < RANDOM_KEYS; i++) {
		size_t size = random_bytes(&seed, text);

		for (size_t f = 0; f < KEY_FORMAT_COUNT; f++) {
			buffer_clear(&key);
			buffer_clear(&back);
			if (!keyformat_parse((enum key_format)f, text, size, &key))
				continue;
			parsed[f]++;
			assert_true(keyformat_render((enum key_format)f, key.data, key.size, &back));
			assert_int_equal(back.size, size);
			if (size)
				assert_memory_equal(back.data, text, size);
		}
	}
	for (size_t f = 0; f < KEY_FORMAT_COUNT; f++) {
		if (f != KEY_FORMAT_UUID)
			assert_true(parsed[f] > 50);
	}
	buffer_release(&key);
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

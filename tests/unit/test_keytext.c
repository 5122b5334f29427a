/* Keys as text: exact forms, safety, and the way back for every key. */
#include "sql/keytext.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sql/utf8.h"

static const struct {
	const char *key;
	size_t len;
	const char *text;
} rows[] = {
#define ROW(key, text) { key, sizeof(key) - 1, text }
	ROW("", ""),
	ROW("user-1", "user-1"),
	ROW("a b", "a b"),
	ROW("\"'<>&", "\"'<>&"),
	ROW("a\\b", "a\\\\b"),
	ROW("a\nb\tc\rd", "a\\nb\\tc\\rd"),
	ROW("\0\x01\x1b[31m\x7f", "\\x00\\x01\\x1b[31m\\x7f"),
	ROW("na\xc3\xafve", "na\xc3\xafve"),
	ROW("\xf0\x9f\x94\x91key", "\xf0\x9f\x94\x91key"),
	ROW("\xff\xfe\x80", "\\xff\\xfe\\x80"),
	ROW("\xc3", "\\xc3"),
	ROW("\xc3" "a", "\\xc3a"),
	ROW("\xe2\x82", "\\xe2\\x82"),
	ROW("\xc0\xaf", "\\xc0\\xaf"),                         /* overlong */
	ROW("\xe0\x80\xaf", "\\xe0\\x80\\xaf"),
	ROW("\xed\xa0\x80", "\\xed\\xa0\\x80"),                /* a surrogate */
	ROW("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"),       /* above U+10FFFF */
	ROW("\xc2\x80\xc2\x9f\xc2\xa0", "\\u{80}\\u{9f}\xc2\xa0"),
	ROW("\xe2\x80\x8b\xe2\x80\x8f\xe2\x80\x90", "\\u{200b}\\u{200f}\xe2\x80\x90"),
	ROW("abc\xe2\x80\xae", "abc\\u{202e}"),
	ROW("\xe2\x81\xa6\xe2\x81\xa9", "\\u{2066}\\u{2069}"),
	ROW("\xe2\x80\xa8\xe2\x80\xa9", "\\u{2028}\\u{2029}"),
	ROW("\xef\xbb\xbf", "\\u{feff}"),
	ROW("\xf3\xa0\x81\x81", "\\u{e0041}"),
	ROW("\xf4\x8f\xbf\xbf", "\\u{10ffff}"),
	ROW("\\u{202e}", "\\\\u{202e}"),
#undef ROW
};

static void test_forms(void **state)
{
	char text[256], back[256];
	size_t len, back_len;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		len = keytext_write(rows[i].key, rows[i].len, text);
		assert_string_equal(text, rows[i].text);
		assert_int_equal(len, strlen(rows[i].text));
		assert_int_equal(keytext_read(text, len, back, &back_len), 0);
		assert_int_equal(back_len, rows[i].len);
		assert_memory_equal(back, rows[i].key, back_len);
	}
}

/* Every code point at 0x80 and above: itself or \u{N}, never longer than its room, and back. */
static void test_every_point(void **state)
{
	(void)state;
	for (uint32_t point = 0x80; point < 0x110000; point++) {
		uint8_t key[4], back[16];
		char text[KEYTEXT_ROOM(4)];
		size_t len, text_len, back_len;

		if (point >= 0xd800 && point < 0xe000)
			continue;
		len = utf8_encode(point, key);
		text_len = keytext_write(key, len, text);
		assert_true(text_len < KEYTEXT_ROOM(len));
		assert_true(text[0] == '\\' || (text_len == len && !memcmp(text, key, len)));
		assert_int_equal(keytext_read(text, text_len, back, &back_len), 0);
		assert_int_equal(back_len, len);
		assert_memory_equal(back, key, len);
	}
}

static uint32_t random_next(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33);
}

/* Random bytes from an alphabet that makes escapes, broken UTF-8 and controls likely. */
static void test_random_keys(void **state)
{
	static const char alphabet[] = "\\xu{}ntr0aF\n\t\x1b\x7f\xc2\x9b\xe2\x80\xae\xf3\xa0\xff";
	uint64_t seed = 7;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		size_t len = random_next(&seed) % 24, text_len, back_len;
		uint8_t key[24], back[KEYTEXT_ROOM(24)];
		char text[KEYTEXT_ROOM(24)];

		for (size_t j = 0; j < len; j++)
			key[j] = random_next(&seed) % 4 ? (uint8_t)alphabet[random_next(&seed) % sizeof(alphabet)]
							: (uint8_t)random_next(&seed);
		text_len = keytext_write(key, len, text);
		assert_true(text_len < KEYTEXT_ROOM(len));
		assert_true(key_is_utf8(text, text_len));
		for (size_t j = 0; j < text_len; j++)
			assert_true((uint8_t)text[j] >= 0x20 && text[j] != 0x7f);
		assert_int_equal(keytext_read(text, text_len, back, &back_len), 0);
		assert_int_equal(back_len, len);
		assert_memory_equal(back, key, len);
		assert_int_equal(keyhex_write(key, len, text), 2 * len);
		assert_int_equal(keyhex_read(text, 2 * len, back, &back_len), 0);
		assert_int_equal(back_len, len);
		assert_memory_equal(back, key, len);
	}
}

static void test_bad_text(void **state)
{
	static const struct {
		const char *text;
		size_t at;
	} bad[] = {
		{ "\\", 0 }, { "ab\\", 2 }, { "\\q", 0 }, { "\\x", 0 }, { "\\x1", 0 }, { "\\x1g", 0 },
		{ "a\\n\\xg1", 3 },
		{ "\\u", 0 }, { "\\u{", 0 }, { "\\u{}", 0 }, { "\\u{12", 0 }, { "\\u202e", 0 }, { "\\u{110000}", 0 },
		{ "\\u{d800}", 0 }, { "\\u{dfff}", 0 }, { "\\u{0000041}", 0 }, { "\\u{4g}", 0 }, { "\\X41", 0 },
	};
	char out[64];
	size_t at;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(keytext_read(bad[i].text, strlen(bad[i].text), out, &at), -1);
		assert_int_equal(at, bad[i].at);
	}
	assert_int_equal(keytext_read("\\x4A\\u{4B}\\u{00004c}\xff", 21, out, &at), 0);
	assert_int_equal(at, 4);
	assert_memory_equal(out, "JKL\xff", 4);
}

static void test_hex(void **state)
{
	char out[16];
	size_t len;

	(void)state;
	assert_int_equal(keyhex_write("\0\xab\x1f", 3, out), 6);
	assert_string_equal(out, "00ab1f");
	assert_int_equal(keyhex_write(NULL, 0, out), 0);
	assert_string_equal(out, "");
	assert_int_equal(keyhex_read("00aB1F", 6, out, &len), 0);
	assert_int_equal(len, 3);
	assert_memory_equal(out, "\0\xab\x1f", 3);
	assert_int_equal(keyhex_read("", 0, out, &len), 0);
	assert_int_equal(len, 0);
	assert_int_equal(keyhex_read("abc", 3, out, &len), -1);
	assert_int_equal(len, 2);
	assert_int_equal(keyhex_read("ag", 2, out, &len), -1);
	assert_int_equal(len, 1);
}

static void test_utf8(void **state)
{
	(void)state;
	assert_true(key_is_utf8(NULL, 0));
	assert_true(key_is_utf8("a\0b", 3));
	assert_true(key_is_utf8("\xf0\x9f\x94\x91\xc2\x80", 6));
	assert_false(key_is_utf8("\xf0\x9f\x94", 3));
	assert_false(key_is_utf8("a\x80", 2));
	assert_false(key_is_utf8("\xed\xa0\x80", 3));
	assert_false(key_is_utf8("\xf8\x88\x80\x80\x80", 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),	 cmocka_unit_test(test_every_point), cmocka_unit_test(test_random_keys),
		cmocka_unit_test(test_bad_text), cmocka_unit_test(test_hex),	      cmocka_unit_test(test_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

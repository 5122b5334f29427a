/* Ids of stream entries. */
#include "sql/entry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool reads(const char *text, uint8_t id[ENTRY_SIZE])
{
	return entry_read(text, strlen(text), id);
}

static void test_round_trip(void **state)
{
	static const char *const texts[] = { "0-0", "0-1", "1700000000000-0", "1700000000000-12",
					     "18446744073709551615-18446744073709551615" };
	char text[ENTRY_ROOM];
	uint8_t id[ENTRY_SIZE], before[ENTRY_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_true(reads(texts[i], id));
		assert_int_equal(entry_write(id, text), strlen(texts[i]));
		assert_string_equal(text, texts[i]);
		if (i > 0)
			assert_true(memcmp(before, id, ENTRY_SIZE) < 0);
		memcpy(before, id, ENTRY_SIZE);
	}
}

static void test_no_ids(void **state)
{
	static const char *const texts[] = { "",
					     "-",
					     "1",
					     "1-",
					     "-1",
					     "1-2-3",
					     "1-2 ",
					     " 1-2",
					     "+1-2",
					     "1--2",
					     "0x10-0",
					     "1-a",
					     "1.5-0",
					     "18446744073709551616-0",
					     "0-18446744073709551616" };
	uint8_t id[ENTRY_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_false(reads(texts[i], id));
}

static void test_milliseconds(void **state)
{
	uint8_t id[ENTRY_SIZE];

	(void)state;
	assert_true(reads("1700000000123-9", id));
	assert_int_equal(entry_ms(id), 1700000000123);
	assert_true(reads("9223372036854775808-0", id));
	assert_true(entry_ms(id) == INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_no_ids),
		cmocka_unit_test(test_milliseconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The fence contract, the model of its script, and the strict reading of stored numbers. */
#include "sql/verdict.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sql/fencefield.h"
#include "sql/run.h"

static void test_contract(void **state)
{
	static const struct fence at_3_100 = { 3, 100 };
	static const struct {
		struct incoming in;
		int64_t epoch;
		const struct fence *fence;
		enum verdict verdict;
	} rows[] = {
		{ { 3, 4, 101, 5 }, 5, &at_3_100, VERDICT_DLQ },
		{ { 3, 4, 101, 4 }, 5, &at_3_100, VERDICT_DLQ },     /* off home comes before the epoch */
		{ { 3, 3, 101, 4 }, 5, &at_3_100, VERDICT_FENCE },
		{ { 3, 3, 101, 4 }, 5, NULL, VERDICT_FENCE },
		{ { 3, 3, 101, -1 }, 0, NULL, VERDICT_FENCE },
		{ { 3, 3, 0, 0 }, 0, NULL, VERDICT_APPLY },
		{ { 3, 3, 101, 5 }, 5, &at_3_100, VERDICT_APPLY },
		{ { 3, 3, 900, 6 }, 5, &at_3_100, VERDICT_APPLY },
		{ { 3, 3, 100, 5 }, 5, &at_3_100, VERDICT_REEMIT },
		{ { 3, 3, 99, 5 }, 5, &at_3_100, VERDICT_SKIP },
		{ { 4, 4, 99, 5 }, 5, &at_3_100, VERDICT_REBASE },
		{ { 4, 4, 100, 5 }, 5, &at_3_100, VERDICT_REBASE },
		{ { 4, 4, 101, 5 }, 5, &at_3_100, VERDICT_REBASE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(verdict_name(fence_verdict(&rows[i].in, rows[i].epoch, rows[i].fence)),
				    verdict_name(rows[i].verdict));
}

static struct stored text(const char *s)
{
	return (struct stored){ s, s ? strlen(s) : 0 };
}

static const char *script(const struct incoming *in, const char *epoch, const char *partition, const char *offset)
{
	struct stored_fence stored = { .epoch = text(epoch), .partition = text(partition), .offset = text(offset) };
	enum verdict verdict;

	return script_verdict(in, &stored, &verdict) ? verdict_name(verdict) : "error";
}

static void test_script_oddities(void **state)
{
	static const struct {
		struct incoming in;
		const char *epoch, *partition, *offset, *answer;
	} rows[] = {
		{ { 0, 0, 5, 0 }, NULL, "00", "9", "REBASE" },
		{ { 0, 0, 5, 0 }, NULL, " 0", "9", "REBASE" },
		{ { 0, 0, 5, 0 }, NULL, "0", " 5 ", "REEMIT" },
		{ { 0, 0, 5, 0 }, NULL, "0", "\t5\v\f\r\n", "REEMIT" },
		{ { 0, 0, 5, 0 }, NULL, "0", "05", "REEMIT" },
		{ { 0, 0, 5, 0 }, NULL, "0", "+5", "REEMIT" },
		{ { 0, 0, 16, 0 }, NULL, "0", "0x10", "REEMIT" },
		{ { 0, 0, 1000, 0 }, NULL, "0", "1e3", "REEMIT" },
		{ { 0, 0, 5, 0 }, NULL, "0", "4.5", "APPLY" },
		{ { 0, 0, 5, 0 }, NULL, "0", "inf", "SKIP" },
		{ { 0, 0, 5, 0 }, NULL, "0", "-inf", "APPLY" },
		{ { 0, 0, 5, 0 }, NULL, "0", "nan", "SKIP" },
		{ { 0, 0, 5, 0 }, NULL, "0", "-1", "APPLY" },
		{ { 0, 0, 5, 0 }, NULL, "0", "abc", "error" },
		{ { 0, 0, 5, 0 }, NULL, "0", "", "error" },
		{ { 0, 0, 5, 0 }, NULL, "0", " ", "error" },
		{ { 0, 0, 5, 0 }, NULL, "0", "5 6", "error" },
		{ { 0, 0, 5, 0 }, NULL, "0", "0x", "error" },
		{ { 1, 1, 5, 0 }, NULL, "0", "abc", "REBASE" },
		{ { 0, 0, INT64_C(9007199254740992), 0 }, NULL, "0", "9007199254740993", "REEMIT" },
		{ { 0, 0, INT64_MAX, 0 }, NULL, "0", "9223372036854775808", "REEMIT" },
		{ { 0, 0, 5, 0 }, NULL, NULL, "9", "REBASE" },
		{ { 0, 0, 5, 0 }, NULL, "0", NULL, "APPLY" },
		{ { 0, 0, 5, 0 }, NULL, "1", NULL, "APPLY" },
		{ { 0, 0, 5, 0 }, "abc", NULL, NULL, "error" },
		{ { 0, 0, 5, 0 }, "", NULL, NULL, "error" },
		{ { 0, 0, 5, 2 }, " 0x3", NULL, NULL, "FENCE" },
		{ { 0, 0, 5, 3 }, "3.5", NULL, NULL, "FENCE" },
		{ { 0, 0, 5, 3 }, "3", "0", "abc", "error" },
		{ { 0, 0, 5, 2 }, "3", "0", "abc", "FENCE" },
		{ { 1, 0, 5, 2 }, "abc", "0", "abc", "DLQ" },
		{ { 0, 0, 5, 0 }, NULL, "0",
		  "0000000000000000000000000000000000000000000000000000000000000000000000000000005", "REEMIT" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(script(&rows[i].in, rows[i].epoch, rows[i].partition, rows[i].offset),
				    rows[i].answer);
}

static void test_script_types(void **state)
{
	struct incoming in = { 0, 0, 5, 0 };
	struct stored_fence stored = { .epoch_wrong_type = true };
	enum verdict verdict;

	(void)state;
	assert_int_equal(script_verdict(&in, &stored, &verdict), 0);
	stored = (struct stored_fence){ .state_wrong_type = true };
	assert_int_equal(script_verdict(&in, &stored, &verdict), 0);
	stored.epoch = text("1"); /* the epoch is compared before the state is looked at */
	assert_int_equal(script_verdict(&in, &stored, &verdict), 1);
	assert_string_equal(verdict_name(verdict), "FENCE");
	/* Lua's strings end at a NUL when they become numbers, and not when they are compared. */
	stored = (struct stored_fence){ .partition = text("0"), .offset = { "5\0abc", 5 } };
	assert_int_equal(script_verdict(&in, &stored, &verdict), 1);
	assert_string_equal(verdict_name(verdict), "REEMIT");
	stored.partition = (struct stored){ "0\0", 2 };
	assert_int_equal(script_verdict(&in, &stored, &verdict), 1);
	assert_string_equal(verdict_name(verdict), "REBASE");
}

/* Where the stored numbers are well formed, contract and script never differ, up to the last exact offset. */
static void test_agreement(void **state)
{
	static const int64_t numbers[] = { -3, -1, 0, 1, 2, 9, 10, 99, 100, 101, INT32_MAX, INT64_C(4294967296),
					   INT64_C(9007199254740990), INT64_C(9007199254740991),
					   INT64_C(9007199254740992), INT64_C(9007199254740993), INT64_MAX };
	const size_t count = sizeof(numbers) / sizeof(*numbers);
	size_t compared = 0;

	(void)state;
	for (size_t i = 0; i < count * count * count * count; i++) {
		int64_t value, epoch = numbers[i % count], offset = numbers[i / count % count];
		struct incoming in = { 0, 0, numbers[i / count / count % count],
				       numbers[i / count / count / count] };
		char epoch_text[32], offset_text[32];
		int partition = i % 3 == 0;

		snprintf(epoch_text, sizeof(epoch_text), "%lld", (long long)epoch);
		snprintf(offset_text, sizeof(offset_text), "%lld", (long long)offset);
		if (fencefield_read_epoch(epoch_text, strlen(epoch_text), &value) != FENCEFIELD_OK ||
		    fencefield_read(offset_text, strlen(offset_text), &value) != FENCEFIELD_OK)
			continue;
		assert_string_equal(script(&in, epoch_text, partition ? "1" : "0", offset_text),
				    verdict_name(fence_verdict(&in, epoch, &(struct fence){ partition, offset })));
		compared++;
	}
	assert_true(compared > 30000);
}

static void test_fencefield(void **state)
{
	static const struct {
		const char *text;
		enum fencefield fence, epoch;
		int64_t value;
	} rows[] = {
		{ "0", FENCEFIELD_OK, FENCEFIELD_OK, 0 },
		{ "5", FENCEFIELD_OK, FENCEFIELD_OK, 5 },
		{ "9007199254740991", FENCEFIELD_OK, FENCEFIELD_OK, INT64_C(9007199254740991) },
		{ "9007199254740992", FENCEFIELD_INEXACT, FENCEFIELD_INEXACT, INT64_C(9007199254740992) },
		{ "9223372036854775807", FENCEFIELD_INEXACT, FENCEFIELD_INEXACT, INT64_MAX },
		{ "9223372036854775808", FENCEFIELD_OVERFLOW, FENCEFIELD_OVERFLOW, UNKNOWN },
		{ "18446744073709551616", FENCEFIELD_OVERFLOW, FENCEFIELD_OVERFLOW, UNKNOWN },
		{ "99999999999999999999999999", FENCEFIELD_OVERFLOW, FENCEFIELD_OVERFLOW, UNKNOWN },
		{ "", FENCEFIELD_EMPTY, FENCEFIELD_EMPTY, UNKNOWN },
		{ "05", FENCEFIELD_LEADING_ZERO, FENCEFIELD_LEADING_ZERO, UNKNOWN },
		{ "00", FENCEFIELD_LEADING_ZERO, FENCEFIELD_LEADING_ZERO, UNKNOWN },
		{ " 5", FENCEFIELD_NOT_DECIMAL, FENCEFIELD_NOT_DECIMAL, UNKNOWN },
		{ "5 ", FENCEFIELD_NOT_DECIMAL, FENCEFIELD_NOT_DECIMAL, UNKNOWN },
		{ "1e3", FENCEFIELD_NOT_DECIMAL, FENCEFIELD_NOT_DECIMAL, UNKNOWN },
		{ "0x10", FENCEFIELD_NOT_DECIMAL, FENCEFIELD_NOT_DECIMAL, UNKNOWN },
		{ "5.0", FENCEFIELD_NOT_DECIMAL, FENCEFIELD_NOT_DECIMAL, UNKNOWN },
		{ "abc", FENCEFIELD_NOT_DECIMAL, FENCEFIELD_NOT_DECIMAL, UNKNOWN },
		{ "-", FENCEFIELD_NOT_DECIMAL, FENCEFIELD_NOT_DECIMAL, UNKNOWN },
		{ "--1", FENCEFIELD_NOT_DECIMAL, FENCEFIELD_NOT_DECIMAL, UNKNOWN },
		{ "+5", FENCEFIELD_SIGNED, FENCEFIELD_SIGNED, UNKNOWN },
		{ "-0", FENCEFIELD_SIGNED, FENCEFIELD_LEADING_ZERO, UNKNOWN },
		{ "-05", FENCEFIELD_SIGNED, FENCEFIELD_LEADING_ZERO, UNKNOWN },
		{ "-9223372036854775808", FENCEFIELD_SIGNED, FENCEFIELD_OVERFLOW, UNKNOWN },
	};
	int64_t value;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t len = strlen(rows[i].text);

		assert_string_equal(fencefield_word(fencefield_read(rows[i].text, len, &value)),
				    fencefield_word(rows[i].fence));
		assert_true(value == rows[i].value);
		assert_string_equal(fencefield_word(fencefield_read_epoch(rows[i].text, len, &value)),
				    fencefield_word(rows[i].epoch));
		assert_true(value == rows[i].value);
	}
	assert_int_equal(fencefield_read(NULL, 0, &value), FENCEFIELD_MISSING);
	assert_true(value == UNKNOWN);
	assert_int_equal(fencefield_read("5\0", 2, &value), FENCEFIELD_NOT_DECIMAL);
	assert_int_equal(fencefield_read("-1", 2, &value), FENCEFIELD_SIGNED);
	assert_int_equal(fencefield_read_epoch("-1", 2, &value), FENCEFIELD_OK);
	assert_true(value == -1);
	assert_int_equal(fencefield_read_epoch("-9223372036854775807", 20, &value), FENCEFIELD_INEXACT);
	assert_true(value == -INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contract),     cmocka_unit_test(test_script_oddities),
		cmocka_unit_test(test_script_types), cmocka_unit_test(test_agreement),
		cmocka_unit_test(test_fencefield),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

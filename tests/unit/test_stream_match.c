/* stream_match: names, and Redis' globs over bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ingest/stream_match.h"

struct row {
	const char *pattern, *name;
	bool fits;
};

static const struct row rows[] = {
	{ "*", "", true },
	{ "*", "anything", true },
	{ "", "", true },
	{ "", "a", false },
	{ "?", "", false },
	{ "?", "a", true },
	{ "a*c", "ac", true },
	{ "a*c", "abcbc", true },
	{ "a*c", "abcb", false },
	{ "*a*b*c*", "xxaxxbxxcxx", true },
	{ "*a*b*c*", "xxaxxcxxbxx", false },
	{ "a**b", "a-b", true },
	{ "[abc]", "b", true },
	{ "[abc]", "d", false },
	{ "[a-c]x", "bx", true },
	{ "[c-a]x", "bx", true },
	{ "[^a-c]x", "bx", false },
	{ "[^a-c]x", "dx", true },
	{ "[a-]", "-", false }, /* a range to the bracket, in a set without end */
	{ "[a-]", "^", true },
	{ "[]", "a", false },
	{ "[\\]]", "]", true },
	{ "[\\a-c]", "b", false },
	{ "[\\a-c]", "-", true },
	{ "[abc", "c", true },
	{ "[", "a", false },
	{ "\\*", "*", true },
	{ "\\*", "a", false },
	{ "a\\", "a\\", true },
	{ "a\\?b", "a?b", true },
	{ "orders:*", "orders:", true },
	{ "orders:*", "order:1", false },
	{ "*:dlq", "a:dlq:dlq", true },
	{ "A", "a", false },
};

static void globs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *row = &rows[i];
		struct bytes pattern = { row->pattern, strlen(row->pattern) }, name = { row->name, strlen(row->name) };

		if (stream_glob_fits(pattern, name) != row->fits)
			fail_msg("%s against %s", row->pattern, row->name);
	}
}

static void bytes_of_any_kind(void **state)
{
	const struct bytes name = { "a\0\xff\nb", 5 };

	(void)state;
	assert_true(stream_glob_fits((struct bytes){ "a???b", 5 }, name));
	assert_true(stream_glob_fits((struct bytes){ "a\0*", 3 }, name));
	assert_true(stream_glob_fits((struct bytes){ "*[\x80-\xff]?b", 8 }, name));
	assert_false(stream_glob_fits((struct bytes){ "a\0", 2 }, name));
	assert_true(stream_match("a*b", name));
	assert_false(stream_match("a", name));
}

static void names(void **state)
{
	(void)state;
	assert_false(stream_is_glob("orders:{1}^-"));
	assert_true(stream_is_glob("a*") && stream_is_glob("a?") && stream_is_glob("[a") && stream_is_glob("a\\"));
	assert_true(stream_match("orders", (struct bytes){ "orders", 6 }));
	assert_false(stream_match("orders", (struct bytes){ "orders\0", 7 }));
	assert_false(stream_match("orders", (struct bytes){ "order", 5 }));
}

/* A pattern that makes a matcher which tries every place of every star go on for years. */
static void many_stars(void **state)
{
	char name[201], pattern[202];

	(void)state;
	memset(name, 'a', sizeof(name));
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = i % 2 ? 'a' : '*';
	assert_true(stream_glob_fits((struct bytes){ pattern, 202 }, (struct bytes){ name, 201 }));
	pattern[201] = 'b';
	assert_false(stream_glob_fits((struct bytes){ pattern, 202 }, (struct bytes){ name, 201 }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(globs),
		cmocka_unit_test(bytes_of_any_kind),
		cmocka_unit_test(names),
		cmocka_unit_test(many_stars),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

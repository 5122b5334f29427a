/* The SQL functions: values, NULLs, errors in words, flags. */
#include "sql/functions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Expressions and the one value they give, as SQL quotes it; or the error of the statement after "!". */
static const struct {
	const char *expression, *answer;
} rows[] = {
	{ "murmur2('')", "275646681" },
	{ "murmur2(x'')", "275646681" },
	{ "murmur2('21')", "-973932308" },
	{ "murmur2(x'3231')", "-973932308" },
	{ "murmur2(NULL)", "NULL" },
	{ "murmur2(21)", "!murmur2: the key must be a blob or text" },
	{ "murmur2(2.5)", "!murmur2: the key must be a blob or text" },
	{ "home_partition('', 12)", "9" },
	{ "home_partition(x'', 10)", "1" },
	{ "home_partition('21', 10)", "0" },
	{ "home_partition('21', 2147483647)", "1173551340" },
	{ "home_partition(NULL, 12)", "NULL" },
	{ "home_partition('a', NULL)", "NULL" },
	{ "home_partition('a', 0)", "!home_partition: a partition count must be at least 1 and fit 32 bits" },
	{ "home_partition('a', 2147483648)", "!home_partition: a partition count must be at least 1 and fit 32 bits" },
	{ "home_partition('a', '12')", "!home_partition: a number must be an integer" },
	{ "home_partition('a', 12.0)", "!home_partition: a number must be an integer" },
	{ "partition_by('murmur2', '', 12)", "9" },
	{ "partition_by('kafkajs_legacy', '', 10)", "4" },
	{ "partition_by('crc32', x'', 10)", "0" },
	{ "partition_by('java_string_mask', x'fffe', 10)", "NULL" },
	{ "partition_by(NULL, 'a', 10)", "NULL" },
	{ "partition_by('murmur2', NULL, 10)", "NULL" },
	{ "partition_by('murmur2', 'a', NULL)", "NULL" },
	{ "partition_by('murmur2', 'a', -1)", "!partition_by: a partition count must be at least 1 and fit 32 bits" },
	{ "substr(fence_verdict(3, 5, 3, 100, 3, 101, 5), 1)", "'APPLY'" },
	{ "fence_verdict(3, 5, 3, 100, 3, 100, 5)", "'REEMIT'" },
	{ "fence_verdict(3, 5, 3, 100, 3, 99, 5)", "'SKIP'" },
	{ "fence_verdict(3, 5, 2, 100, 3, 99, 5)", "'REBASE'" },
	{ "fence_verdict(3, 5, 3, 100, 3, 101, 4)", "'FENCE'" },
	{ "fence_verdict(3, 5, 3, 100, 4, 101, 5)", "'DLQ'" },
	{ "fence_verdict(3, NULL, NULL, NULL, 3, 0, 0)", "'APPLY'" },
	{ "fence_verdict(3, NULL, NULL, 100, 3, 0, 0)", "'REBASE'" },
	{ "fence_verdict(3, NULL, '03', '100', 3, 101, 0)", "'REBASE'" },
	{ "fence_verdict(3, NULL, x'33', x'203065', 3, 101, 0)", "NULL" },
	{ "fence_verdict(3, NULL, '3', ' 0x64', 3, 100, 0)", "'REEMIT'" },
	{ "fence_verdict(3, NULL, '3', 'abc', 3, 100, 0)", "NULL" },
	{ "fence_verdict(3, NULL, '3', '', 3, 100, 0)", "NULL" },
	{ "fence_verdict(3, NULL, '3', x'', 3, 100, 0)", "NULL" },
	{ "fence_verdict(NULL, 5, 3, 100, 3, 101, 5)", "NULL" },
	{ "fence_verdict(3, 5, 3, 100, NULL, 101, 5)", "NULL" },
	{ "fence_verdict(3, 5, 3, 100, 3, NULL, 5)", "NULL" },
	{ "fence_verdict(3, 5, 3, 100, 3, 101, NULL)", "NULL" },
	{ "fence_verdict('3', 5, 3, 100, 3, 101, 5)", "!fence_verdict: a number must be an integer" },
	{ "fence_verdict(3, 5, 3, 100, 4294967299, 101, 5)", "!fence_verdict: a partition must fit 32 bits" },
	{ "fence_verdict(3, 5, 3, 1.5, 3, 101, 5)",
	  "!fence_verdict: a stored number must be an integer or the stored text" },
	{ "redis_slot('foo')", "12182" },
	{ "redis_slot('{foo}bar')", "12182" },
	{ "redis_slot(NULL)", "NULL" },
	{ "redis_slot(1)", "!redis_slot: the key must be a blob or text" },
	{ "xxh3('')", "1622210670741801569" },
	{ "xxh3(x'61') = xxh3('a')", "1" },
	{ "xxh3('a')", "8314517215945369359" },
	{ "xxh3(NULL)", "NULL" },
	{ "xxh3(1)", "!xxh3: the key must be a blob or text" },
	{ "the_key('user-1')", "'The key user-1'" },
	{ "the_key(x'ff0a')", "'The key \\xff\\n'" },
	{ "the_key('')", "'The empty key'" },
	{ "the_key(NULL)", "NULL" },
	{ "of_key(x'757365722d31')", "'of key user-1'" },
	{ "of_key(x'')", "'of the empty key'" },
	{ "of_key(7)", "!of_key: the key must be a blob or text" },
	{ "key_text(x'61ff0a5c')", "'a\\xff\\n\\\\'" },
	{ "key_text('')", "''" },
	{ "key_text(x'')", "''" },
	{ "key_text(NULL)", "NULL" },
	{ "key_text(5)", "!key_text: the key must be a blob or text" },
	{ "key_hex(x'00AB')", "'00ab'" },
	{ "key_hex(x'')", "''" },
	{ "key_hex('a')", "'61'" },
	{ "key_hex(NULL)", "NULL" },
	{ "key_shell(x'757365722d31')", "'user-1'" },
	{ "key_shell('it''s')", "'''it''\\''''s'''" },
	{ "key_shell('a b')", "'''a b'''" },
	{ "key_shell('$x')", "'''$x'''" },
	{ "key_shell('')", "''''''" },
	{ "key_shell(x'61ff27')", "'$''a\\xff\\'''''" },
	{ "key_shell('a\\b')", "'$''a\\\\b'''" },
	{ "key_shell(x'00')", "'$''\\x00'''" },
	{ "key_shell(x'e280ae')", "'$''\\xe2\\x80\\xae'''" },
	{ "key_shell('\xc3\xbc')", "'''\xc3\xbc'''" },
	{ "key_shell(NULL)", "NULL" },
	{ "key_utf8(x'6b6579')", "'key'" },
	{ "key_utf8(x'')", "''" },
	{ "key_utf8(x'ff')", "NULL" },
	{ "key_utf8(NULL)", "NULL" },
	{ "hex(key_utf8(x'610062'))", "'610062'" },
	{ "key_parse('a\\xff\\u{202e}')", "X'61ffe280ae'" },
	{ "key_parse('')", "X''" },
	{ "key_parse(NULL)", "NULL" },
	{ "key_parse('ab\\q')", "!key_parse: no escape at byte 2 of the text" },
	{ "murmur2()", "!wrong number of arguments to function murmur2()" },
};

static sqlite3 *open_database(void)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(functions_register(db), SQLITE_OK);
	return db;
}

/* The quoted value of an expression into answer, or "!" and the error. */
static void evaluate(sqlite3 *db, const char *expression, char *answer, size_t room)
{
	char *sql = sqlite3_mprintf("SELECT quote(%s)", expression);
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
		sqlite3_snprintf((int)room, answer, "%s", sqlite3_column_text(statement, 0));
	else
		sqlite3_snprintf((int)room, answer, "!%s", sqlite3_errmsg(db));
	sqlite3_finalize(statement);
	sqlite3_free(sql);
}

static void test_values(void **state)
{
	sqlite3 *db = open_database();
	char answer[512];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		evaluate(db, rows[i].expression, answer, sizeof(answer));
		if (sqlite3_stricmp(answer, rows[i].answer) != 0)
			fail_msg("%s gives %s, not %s", rows[i].expression, answer, rows[i].answer);
	}
	sqlite3_close(db);
}

static void test_unknown_partitioner(void **state)
{
	sqlite3 *db = open_database();
	char answer[512];

	(void)state;
	evaluate(db, "partition_by('md5', 'a', 10)", answer, sizeof(answer));
	assert_ptr_equal(strstr(answer, "!partition_by: no such partitioner; there are murmur2 crc32 fnv1a "), answer);
	assert_non_null(strstr(answer, " phash2"));
	sqlite3_close(db);
}

/* Deterministic functions may stand in an index, innocuous ones in a view of a schema that is not trusted. */
static void test_flags(void **state)
{
	sqlite3 *db = open_database();
	char answer[64];

	(void)state;
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE t(key BLOB); CREATE INDEX i ON t(xxh3(key), murmur2(key));"
					  "INSERT INTO t VALUES ('a');"
					  "CREATE VIEW v AS SELECT home_partition(key, 10) AS home FROM t;"
					  "PRAGMA trusted_schema = OFF", NULL, NULL, NULL), SQLITE_OK);
	evaluate(db, "(SELECT home FROM v)", answer, sizeof(answer));
	assert_string_equal(answer, "4");
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_unknown_partitioner),
		cmocka_unit_test(test_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

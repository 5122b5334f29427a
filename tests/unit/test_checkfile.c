/* Check files: those of --checks, what is refused of them and in which words, and running some of them only. */
#include <unistd.h>

#include "check_said.h"

static void write_file(const char *dir, const char *name, const char *text)
{
	char *path = xprintf("%s/%s", dir, name);
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
	free(path);
}

#define HEADER "-- title: t\n-- severity: warning\n-- claim: c\n-- unverifiable: u\n-- remedy: r\n--   and more\n"
#define SUBJECTS "SELECT 'orders' AS pipeline, NULL AS reason, 3 AS n;\n"
#define FINDINGS(detail)                                                                                     \
	"SELECT 'orders' AS pipeline, 'orders' AS topic, 1 AS partition, 2 AS offset, NULL AS key, NULL AS " \
	"redis_key, "                                                                                        \
	"NULL AS identity, '" detail "' AS detail, '{}' AS evidence;\n"

static const struct {
	const char *name, *file, *text,
		*said; /* said: of the check, or the trouble of the whole where it begins with ! */
} files[] = {
	{ "one more", "mine.sql", HEADER SUBJECTS FINDINGS("so"), "fail 1 so r and more" },
	{ "over an old one", "fence-ahead.sql", HEADER SUBJECTS FINDINGS("over"), "fail 1 over r and more" },
	{ "two pipelines", "mine.sql", HEADER "SELECT 'other' AS pipeline, NULL AS reason, 3 AS n;\n" FINDINGS("so"),
	  "error check DIR/mine.sql: speaks of a pipeline \"other\" that the run does not have" },
	{ "writes", "mine.sql", HEADER SUBJECTS "DELETE FROM finding RETURNING 1;",
	  "error check DIR/mine.sql: statement 2 does more than read" },
	{ "ends the transaction", "mine.sql", HEADER SUBJECTS "COMMIT;",
	  "error check DIR/mine.sql: statement 2 does more than read" },
	{ "lacks a column", "mine.sql", HEADER "SELECT 'orders' AS pipeline, 3 AS n;\n" FINDINGS("so"),
	  "error check DIR/mine.sql: statement 1 has no column \"reason\"" },
	{ "lacks a finding's column", "mine.sql", HEADER SUBJECTS "SELECT 'orders' AS pipeline;",
	  "error check DIR/mine.sql: statement 2 has no column \"topic\"" },
	{ "has one statement", "mine.sql", HEADER SUBJECTS,
	  "error check DIR/mine.sql: has 1 statement; a check has one for its subjects and one for its findings" },
	{ "has four", "mine.sql", HEADER SUBJECTS FINDINGS("so") "SELECT 'orders' AS pipeline, 1 AS n; SELECT 1;",
	  "error check DIR/mine.sql: has more than 3 statements" },
	{ "is no SQL", "mine.sql", HEADER "SELEKT 1;",
	  "error check DIR/mine.sql: statement 1: near \"SELEKT\": syntax error" },
	{ "fails at work", "mine.sql",
	  HEADER SUBJECTS "SELECT 'orders' AS pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, "
			  "NULL AS redis_key, NULL AS identity, json_extract('{', '$') AS detail, '{}' AS evidence;",
	  "error check DIR/mine.sql: read: index in memory: malformed JSON (SQLite code 1)" },
	{ "counts more than it shows", "mine.sql",
	  HEADER SUBJECTS FINDINGS("so") "SELECT 'orders' AS pipeline, 70 AS n;", "fail 70 so r and more" },
	{ "lacks a header", "mine.sql", "-- title: t\n-- severity: error\n-- claim: c\n-- remedy: r\n" SUBJECTS,
	  "!check DIR/mine.sql: the header \"-- unverifiable: ...\" is missing" },
	{ "has a wrong severity", "mine.sql",
	  "-- title: t\n-- severity: bad\n-- claim: c\n-- unverifiable: u\n-- remedy: r\n" SUBJECTS,
	  "!check DIR/mine.sql: severity \"bad\"; valid: info, warning, error" },
	{ "has a header twice", "mine.sql", HEADER "-- claim: d\n" SUBJECTS,
	  "!check DIR/mine.sql: the header \"claim\" stands twice" },
};

/* text with each DIR put in. The caller frees. */
static char *with_dir(const char *text, const char *dir)
{
	const char *at = strstr(text, "DIR");

	return at ? xprintf("%.*s%s%s", (int)(at - text), text, dir, at + 3) : xstrdup(text);
}

static void try_file(size_t i)
{
	char dir[] = "/tmp/test_checks.XXXXXX", *path, *want, *got;
	struct world *w = world_new();
	struct trouble t = { 0 };
	struct fixture fx;
	struct analyzer_options options = { .checks_dir = dir };

	assert_non_null(mkdtemp(dir));
	write_file(dir, files[i].file, files[i].text);
	path = xprintf("%s/%s", dir, files[i].file);
	want = with_dir(files[i].said, dir);
	plain(w);
	fixture_open(&fx);
	fixture_add(&fx, w);
	if (analyzer_check(&fx.run, fx.db, &options, &t) < 0)
		got = xprintf("!%s", t.text);
	else
		got = text_of(&fx,
			      "SELECT status || coalesce(' ' || trouble, ' ' || findings || ' ' || (SELECT detail || ' "
			      "' || remedy FROM finding)) "
			      "FROM check_result WHERE ordinal = (SELECT max(ordinal) FROM check_result) OR findings");
	if (strcmp(got, want) != 0)
		fail_msg("%s: said: %s, wanted: %s", files[i].name, got, want);
	/* A check that fails stops none of the others, and makes the run incomplete. */
	if (strncmp(want, "error", 5) == 0) {
		assert_text(&fx, "SELECT count(*) FROM check_result WHERE status = 'error'", "1");
		assert_text(&fx, "SELECT count(*) FROM trouble WHERE stage = 'check'", "1");
		assert_text(&fx, "SELECT count(*) FROM finding", "0");
	}
	free(got);
	free(want);
	remove(path);
	rmdir(dir);
	free(path);
	fixture_close(&fx);
	world_free(w);
}

static void test_files(void **state)
{
	(void)state;
	name_keys();
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		try_file(i);
}

static void test_only(void **state)
{
	const char *some[] = { "fence-ahead", "lso-stuck" }, *none[] = { "fence-abroad" };
	struct analyzer_options options = { .only = some, .only_count = 2 };
	struct trouble t = { 0 };
	struct fixture fx;

	(void)state;
	run_world(&fx, plain, nothing);
	must(analyzer_check(&fx.run, fx.db, &options, &t), &t);
	assert_text(&fx, "SELECT group_concat(name) FROM check_result", "fence-ahead,lso-stuck");
	options = (struct analyzer_options){ .only = none, .only_count = 1 };
	assert_int_equal(analyzer_check(&fx.run, fx.db, &options, &t), -1);
	assert_string_equal(t.text, "there is no check \"fence-abroad\"");
	assert_text(&fx, "SELECT group_concat(name) FROM check_result", "fence-ahead,lso-stuck");
	fixture_close(&fx);
}

static void count_check(void *context, const struct check_text *check)
{
	assert_true(*check->title && *check->claim && *check->unverifiable && *check->remedy && *check->sql);
	++*(int *)context;
}

static void test_list(void **state)
{
	struct trouble t = { 0 };
	int n = 0;

	(void)state;
	must(analyzer_checks(NULL, count_check, &n, &t), &t);
	assert_true(n >= 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_only),
		cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The checks, by a table: {name, what to break, what must be said}. Each row first proves that the same world passes before it is broken. What is
 * said is text, one line per finding ("check severity topic/partition@offset key: detail") and per reason of what stayed undecided ("check ? reason n"), in the
 * order of checks.
 */
#include "analyzer/analyzer.h"

#include "index_fixture.h"

/* --- what the index says after a check ------------------------------------------------------------------------------ */

static const char SAID[] =
	"SELECT line FROM ("
	"SELECT ordinal, 0 AS part, 0 AS sub, name || ' ! ' || trouble AS line FROM check_result WHERE run_id = ?1 AND status = 'error' "
	"UNION ALL "
	"SELECT c.ordinal, 1, f.ordinal, f.name || ' ' || f.severity || ' ' || coalesce(f.topic, '-') || '/' || coalesce(f.partition, '-') || '@' "
	"|| coalesce(f.offset, '-') || ' ' || coalesce(key_text(f.key), '-') || ': ' || f.detail "
	"FROM finding AS f JOIN check_result AS c ON c.run_id = f.run_id AND c.pipeline = f.pipeline AND c.name = f.name WHERE f.run_id = ?1 "
	"UNION ALL "
	"SELECT c.ordinal, 2, row_number() OVER (ORDER BY u.reason), u.name || ' ? ' || u.reason || ' ' || u.subjects "
	"FROM unverifiable AS u JOIN check_result AS c ON c.run_id = u.run_id AND c.pipeline = u.pipeline AND c.name = u.name WHERE u.run_id = ?1"
	") ORDER BY ordinal, part, sub";

/* All lines, each with a newline. The caller frees. */
static char *said(struct fixture *fx)
{
	struct trouble t = { 0 };
	char *all = xstrdup("");
	sqlite3_stmt *stmt;
	int more;

	must(db_prepare(fx->db, SAID, &stmt, &t), &t);
	db_bind_int(stmt, 1, fx->run.id);
	while ((more = db_step(stmt, &t)) > 0) {
		char *longer = xprintf("%s%s\n", all, (const char *)sqlite3_column_text(stmt, 0));

		free(all);
		all = longer;
	}
	must(more, &t);
	sqlite3_finalize(stmt);
	return all;
}

static void analyze(struct fixture *fx)
{
	struct trouble t = { 0 };

	must(analyzer_check(&fx->run, fx->db, &(struct analyzer_options){ 0 }, &t), &t);
}

/* --- the worlds ------------------------------------------------------------------------------------------------------ */

/* The keys of the plain world, three to a partition; A to D are the first at home in partitions 0 to 3. */
static const char *A, *B, *C, *D;

static void name_keys(void)
{
	A = key_homed(0, 4, 0);
	B = key_homed(1, 4, 0);
	C = key_homed(2, 4, 0);
	D = key_homed(3, 4, 0);
}

/* 4 partitions, 12 keys, 5 rounds of a record each; all applied and committed. Offsets of a partition's first key: 0, 3, 6, 9, 12. */
static void plain(struct world *w)
{
	for (int round = 0; round < 5; round++)
		for (int p = 0; p < 4; p++)
			for (int i = 0; i < 3; i++)
				world_put(w, key_homed(p, 4, i), 1000 * round + 10 * p + i);
	world_settle(w);
}

/* --- what is broken -------------------------------------------------------------------------------------------------- */

static void nothing(struct world *w)
{
	(void)w;
}

static void fence_set_back(struct world *w)
{
	world_set(w, A, 0, 3);
}

static void fence_on_other_record(struct world *w)
{
	world_set(w, B, 1, 13);
}

static void hash_gone(struct world *w)
{
	world_absent(w, C);
}

static void fence_beyond(struct world *w)
{
	world_set(w, D, 3, 15);
}

static void fence_unreadable(struct world *w)
{
	struct world_fence *f = world_set(w, A, 0, 12);

	f->fact.partition = f->fact.offset = UNKNOWN;
	f->fact.malformed = "offset is not-decimal";
	f->fact.offset_raw = (struct bytes){ "x12", 3 };
}

struct row {
	const char *name;
	void (*make)(struct world *w);
	void (*spoil)(struct world *w);
	const char *healthy; /* said before the world is broken */
	const char *words;
};

static const struct row rows[] = {
	{ "nothing", plain, nothing, "", "" },
	{ "regressed", plain, fence_set_back, "",
	  "fence-regressed error orders/0@12 $A: The fence of key $A stands at 3 in partition 0, and must be at or above 12 in partition 0: "
	  "3 records are lost.\n" },
	{ "phantom", plain, fence_on_other_record, "",
	  "fence-phantom error orders/1@13 $B: The fence of key $B stands at 13 in partition 1, where the record of another key is.\n" },
	{ "missing", plain, hash_gone, "",
	  "fence-missing error orders/2@12 $C: The key $C has no hash, and its record at 12 in partition 2 was applied before "
	  "1970-01-01T00:16:40.000Z.\n" },
	{ "ahead", plain, fence_beyond, "",
	  "fence-ahead error orders/3@15 $D: The fence of key $D stands at 15 in partition 3, whose log ends at 15.\n" },
	{ "malformed", plain, fence_unreadable, "",
	  "fence-malformed error orders/0@- $A: The fence of key $A cannot be read: offset is not-decimal.\n" },
};

/* --- running the table ----------------------------------------------------------------------------------------------- */

/* Words with $A ... replaced by keys. The caller frees. */
static char *filled(const char *words)
{
	const char *const keys[] = { A, B, C, D };
	char *text = xstrdup("");

	while (*words) {
		size_t plain_size = strcspn(words, "$");
		bool mark = words[plain_size] == '$';
		char *longer = xprintf("%s%.*s%s", text, (int)plain_size, words, mark ? keys[words[plain_size + 1] - 'A'] : "");

		free(text);
		text = longer;
		words += plain_size + (mark ? 2 : 0);
	}
	return text;
}

static void expect(const struct row *row, void (*spoil)(struct world *), const char *words)
{
	struct world *w = world_new();
	struct fixture fx;
	char *want = filled(words), *got;

	row->make(w);
	spoil(w);
	fixture_open(&fx);
	fixture_add(&fx, w);
	analyze(&fx);
	got = said(&fx);
	if (strcmp(got, want) != 0)
		fail_msg("%s:\nsaid:\n%swanted:\n%s", row->name, got, want);
	free(got);
	free(want);
	fixture_close(&fx);
	world_free(w);
}

static void test_table(void **state)
{
	(void)state;
	name_keys();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		expect(&rows[i], nothing, rows[i].healthy);
		expect(&rows[i], rows[i].spoil, rows[i].words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

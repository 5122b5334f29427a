/* Resizes out of the history alone: what is inferred, what never is, and the counts, worked out once more record by record. */
#include <math.h>

#include "analyzer/resize_fit.h"
#include "check_said.h"

enum { AGE_MS = 300000, AT = 200000 };

/* Records of keys, each in its home under a count, one a millisecond. */
struct phase {
	int32_t count;           /* 0 ends */
	int first, keys, records;
	int64_t ms;
};

static void put_phase(struct world *w, const struct phase *phase)
{
	for (int i = 0; i < phase->records; i++) {
		const char *key = key_name(phase->first + i % phase->keys);

		world_put_in(&w->topic[0], home_of(key, phase->count), key, phase->ms + i);
	}
}

static void size_topic(struct world *w, int32_t partitions)
{
	struct world_topic *t = &w->topic[0];

	t->partitions = t->fact.partitions = t->fact.partitions_at_start = partitions;
}

static struct world *world_of(int32_t partitions, const struct phase *phase)
{
	struct world *w = world_new();

	size_topic(w, partitions);
	for (; phase->count; phase++)
		put_phase(w, phase);
	world_settle(w);
	return w;
}

static void look(struct fixture *fx, struct world *w)
{
	fixture_open(fx);
	fixture_add(fx, w);
	analyze(fx);
}

static char *resizes(struct fixture *fx)
{
	char *text = text_of(fx, "SELECT coalesce(group_concat(from_count || '>' || to_count || ' ' || source, ', '), "
				 "'none') FROM (SELECT * FROM topic_resize ORDER BY from_count)");

	return text;
}

static void expect_resizes(struct fixture *fx, const char *want)
{
	char *got = resizes(fx);

	assert_string_equal(got, want);
	free(got);
}

static int64_t findings(struct fixture *fx, const char *check)
{
	char *sql = xprintf("SELECT count(*) FROM finding WHERE run_id = ?1 AND name = '%s'", check);
	int64_t n = FIXTURE_SQL(fx, sql, fx->run.id);

	free(sql);
	return n;
}

/* --- the same once more, record by record ------------------------------------------------------------------------- */

static bool has_record(const struct world_topic *t, const char *key, int32_t partition, int64_t before_ms)
{
	for (size_t i = 0; i < t->records; i++)
		if (t->record[i].partition == partition && t->record[i].ms < before_ms &&
		    strcmp(t->record[i].key, key) == 0)
			return true;
	return false;
}

static int64_t first_in(const struct world_topic *t, int32_t from)
{
	int64_t ms = INT64_MAX;

	for (size_t i = 0; i < t->records; i++)
		if (t->record[i].partition >= from && t->record[i].ms < ms)
			ms = t->record[i].ms;
	return ms;
}

/* counts: the earlier ones, the latest first, then 0. */
static char *model(const struct world *w, const int32_t *counts, size_t index)
{
	const struct world_topic *t = &w->topic[0];
	int64_t keys = 0, kept = 0, rebased = 0, to_rebase = 0, waiting = 0, begin = first_in(t, counts[index]);
	int32_t to = index ? counts[index - 1] : t->partitions;

	for (size_t i = 0; i < w->fences; i++) {
		const char *key = w->fence[i].key;
		int32_t old = home_of(key, counts[index]), now = home_of(key, t->partitions);
		bool moved = now != old && has_record(t, key, now, INT64_MAX);

		for (size_t j = 0; j < index; j++)
			moved |= home_of(key, counts[j]) != old &&
				 has_record(t, key, home_of(key, counts[j]), INT64_MAX);
		waiting += old != home_of(key, to) && old != now && w->fence[i].fact.partition == old;
		if (!has_record(t, key, old, begin))
			continue;
		keys++;
		kept += old == home_of(key, to);
		rebased += old != home_of(key, to) && moved;
		to_rebase += old != home_of(key, to) && !moved && old != now;
	}
	return xprintf("%lld %lld %lld %lld %lld", (long long)keys, (long long)kept, (long long)rebased,
		       (long long)to_rebase, (long long)waiting);
}

static void expect_counts(struct fixture *fx, const struct world *w, const int32_t *counts)
{
	for (size_t i = 0; counts[i]; i++) {
		char *want = model(w, counts, i);
		char *sql = xprintf("SELECT keys || ' ' || kept || ' ' || rebased || ' ' || to_rebase || ' ' || waiting "
				    "FROM topic_resize WHERE from_count = %d",
				    (int)counts[i]);

		assert_text(fx, sql, want);
		free(sql);
		free(want);
	}
}

/* --- resizes ------------------------------------------------------------------------------------------------------ */

static const struct resize_row {
	const char *name;
	int32_t partitions, counts[4]; /* the latest first */
	struct phase phase[5];
	const char *want;
} rows[] = {
	{ "3 to 12", 12, { 3 }, { { 3, 0, 80, 300, 1000 }, { 12, 0, 40, 90, AT } }, "3>12 history" },
	{ "6 to 12", 12, { 6 }, { { 6, 0, 80, 300, 1000 }, { 12, 20, 90, 200, AT } }, "6>12 history" },
	{ "8 to 12", 12, { 8 }, { { 8, 0, 80, 300, 1000 }, { 12, 0, 30, 60, AT } }, "8>12 history" },
	{ "11 to 12", 12, { 11 }, { { 11, 0, 80, 300, 1000 }, { 12, 0, 60, 60, AT } }, "11>12 history" },
	{ "1 to 2", 2, { 1 }, { { 1, 0, 200, 300, 1000 }, { 2, 0, 120, 120, AT } }, "1>2 history" },
	{ "1 to 6", 6, { 1 }, { { 1, 0, 60, 100, 1000 }, { 6, 0, 60, 60, AT } }, "1>6 history" },
	{ "1 to 6 to 12", 12, { 6, 1 },
	  { { 1, 0, 60, 100, 1000 }, { 6, 0, 60, 160, AT }, { 12, 0, 30, 60, 2 * AT } }, "1>6 history, 6>12 history" },
	{ "6 to 12 to 24", 24, { 12, 6 },
	  { { 6, 0, 80, 300, 1000 }, { 12, 0, 60, 200, AT }, { 24, 0, 30, 100, 2 * AT } },
	  "6>12 history, 12>24 history" },
	{ "3 to 8 to 12 to 31", 31, { 12, 8, 3 },
	  { { 3, 0, 90, 300, 1000 }, { 8, 0, 70, 200, AT }, { 12, 0, 60, 200, 2 * AT }, { 31, 0, 60, 100, 3 * AT } },
	  "3>8 history, 8>12 history, 12>31 history" },
	{ "6 to 24, not over 12", 24, { 6 }, { { 6, 0, 80, 300, 1000 }, { 24, 0, 80, 200, AT } }, "6>24 history" },
};

static void test_resizes_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_of(rows[i].partitions, rows[i].phase);
		struct fixture fx;

		print_message("  %s\n", rows[i].name);
		look(&fx, w);
		expect_resizes(&fx, rows[i].want);
		assert_int_equal(findings(&fx, "copartition-break"), 0);
		assert_int_equal(findings(&fx, "fence-off-home"), 0);
		expect_counts(&fx, w, rows[i].counts);
		fixture_close(&fx);
		world_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resizes_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

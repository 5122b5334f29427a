/*
 * Resizes out of the history: what is said of them, who comes too late, and the counts, worked out once more record by
 * record. test_resize_inferred.c has what may be inferred at all.
 */
#include "analyzer/resize.h"

#include "resize_world.h"

enum { AGE_MS = 300000 };

static void look(struct fixture *fx, struct world *w)
{
	fixture_open(fx);
	fixture_add(fx, w);
	analyze(fx);
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

/* A count that the config names is no finding, and changes nothing else. */
static void test_known_counts(void **state)
{
	const struct phase phase[] = { { 6, 0, 80, 300, 1000 },
					 { 12, 0, 60, 200, AT },
					 { 24, 0, 30, 100, 2 * AT },
					 { 0 } };
	struct world *w = world_of(24, phase);
	struct fixture fx;

	(void)state;
	look(&fx, w);
	assert_int_equal(findings(&fx, "topic-resized"), 2);
	fixture_close(&fx);
	w->before[0] = 12;
	look(&fx, w);
	expect_resizes(&fx, "6>12 history, 12>24 config");
	expect_counts(&fx, w, (const int32_t[]){ 12, 6, 0 });
	assert_int_equal(findings(&fx, "topic-resized"), 1);
	fixture_close(&fx);
	w->before[1] = 6;
	look(&fx, w);
	expect_resizes(&fx, "6>12 config, 12>24 config");
	expect_counts(&fx, w, (const int32_t[]){ 12, 6, 0 });
	assert_int_equal(findings(&fx, "topic-resized"), 0);
	assert_text(&fx, "SELECT status || ' ' || examined FROM check_result WHERE name = 'topic-resized'", "pass 2");
	fixture_close(&fx);
	world_free(w);
}

static void test_an_earlier_run_knew(void **state)
{
	const struct phase before[] = { { 4, 0, 8, 16, 1000 }, { 0 } },
			   after[] = { { 4, 0, 8, 16, 1000 }, { 8, 0, 4, 8, AT }, { 0 } };
	struct world *earlier = world_of(4, before), *w = world_of(8, after);
	struct fixture fx;

	(void)state;
	fixture_open(&fx);
	fixture_add(&fx, earlier);
	fixture_add(&fx, w);
	analyze(&fx);
	expect_resizes(&fx, "4>8 run");
	expect_counts(&fx, w, (const int32_t[]){ 4, 0 });
	assert_int_equal(findings(&fx, "topic-resized"), 1);
	assert_int_equal(findings(&fx, "copartition-break"), 0);
	fixture_close(&fx);
	world_free(w);
	world_free(earlier);
}

static void test_words(void **state)
{
	const struct phase phase[] = { { 6, 0, 80, 300, 1000 }, { 12, 20, 90, 200, AT }, { 0 } };
	struct world *w = world_of(12, phase);
	struct fixture fx;

	(void)state;
	look(&fx, w);
	assert_text(&fx, "SELECT severity || ' ' || topic || ': ' || detail FROM finding WHERE name = 'topic-resized'",
		    "warning orders: orders grew from 6 to 12 partitions at 1970-01-01T00:03:20.000Z: of 80 keys from "
		    "before, 41 kept their home (40.0 expected), 29 have been rebased since, and 10 will be by the next "
		    "record; 10 fences wait in the old partition.");
	assert_text(&fx, "SELECT evidence FROM finding WHERE name = 'topic-resized'",
		    "{\"from\":6,\"to\":12,\"known_from\":\"history\",\"begin\":{\"partition\":10,\"offset\":0,\"time\":"
		    "\"1970-01-01T00:03:20.000Z\",\"time_ms\":200000,\"or_before\":false},\"end\":{\"time\":"
		    "\"1970-01-01T00:08:20.000Z\",\"time_ms\":500000},\"keys\":80,\"sampled\":1.0,\"kept\":41,"
		    "\"kept_expected\":40.0,\"rebased\":29,\"to_rebase\":10,\"fences_waiting\":10,\"stale\":{\"keys\":0,"
		    "\"records\":0},\"proof\":{\"keys\":80,\"at_home\":80,\"at_home_alone\":39}}");
	fixture_close(&fx);
	world_free(w);
}

/* --- who comes too late ------------------------------------------------------------------------------------------- */

/* A record of the i-th key with two homes, in the older one. */
static const char *put_late(struct world *w, int i, int32_t from, int64_t ms)
{
	for (int k = 0;; k++) {
		const char *key = names[k];
		int32_t old = home_of(key, from);

		if (old == home_of(key, w->topic[0].partitions) || i-- > 0)
			continue;
		world_put_in(&w->topic[0], old, key, ms);
		return key;
	}
}

static const struct phase grown[] = { { 6, 0, 80, 300, 1000 }, { 12, 0, 60, 200, AT }, { 0 } };

/* Within the metadata age nobody is late, to the millisecond; from then on everybody is. */
static void test_late_records(void **state)
{
	struct world *w = world_of(12, grown);
	int64_t begin = first_in(&w->topic[0], 6);
	struct fixture fx;

	(void)state;
	for (int i = 0; i < 7; i++)
		put_late(w, i, 6, begin + AGE_MS - 1);
	for (int i = 0; i < 5; i++)
		put_late(w, i, 6, begin + AGE_MS);
	put_late(w, 0, 6, begin + 2 * AGE_MS);
	world_settle(w);
	look(&fx, w);
	expect_resizes(&fx, "6>12 history");
	assert_int_equal(findings(&fx, "copartition-break"), 5);
	assert_text(&fx, "SELECT stale_keys || ' ' || stale_records FROM topic_resize", "5 6");
	assert_text(&fx, "SELECT sum(records) FROM placement WHERE legal = 3", "6");
	assert_text(&fx, "SELECT count(*) FROM placement WHERE legal = 0", "0");
	fixture_close(&fx);
	world_free(w);
}

/* One more run over a world, minutes after the last one. */
static void run_later(struct fixture *fx, struct world *w, int64_t minutes)
{
	w->run_us += minutes * 60000000;
	fixture_add(fx, w);
	analyze(fx);
	FIXTURE_SQL(fx, "UPDATE run SET finished_us = started_us + 1000 WHERE run_id = ?1", fx->run.id);
}

/* Two runs have seen the present count, the second long after the first: what comes then is late, whatever its time. */
static void test_runs_have_seen_the_count(void **state)
{
	const struct phase phase[] = { { 6, 0, 80, 300, 1000 }, { 0 } };
	struct world *w = world_of(12, phase);
	struct fixture fx;

	(void)state;
	w->before[0] = 6;
	fixture_open(&fx);
	run_later(&fx, w, 0);
	put_late(w, 1, 6, 2000);
	run_later(&fx, w, 4); /* too soon */
	put_late(w, 2, 6, 2000);
	run_later(&fx, w, 2);
	assert_int_equal(findings(&fx, "copartition-break"), 0);
	put_late(w, 3, 6, 2000);
	put_late(w, 4, 6, 2000);
	run_later(&fx, w, 1);
	assert_int_equal(findings(&fx, "copartition-break"), 2);
	assert_text(&fx, "SELECT stale_keys || ' ' || (begin_ms IS NULL) FROM topic_resize", "2 1");
	fixture_close(&fx);
	world_free(w);
}

/* A record that is stamped late and lies before those that are not is not late. */
static void test_a_clock_ahead(void **state)
{
	struct world *w = world_of(12, grown);
	int64_t begin = first_in(&w->topic[0], 6);
	struct fixture fx;

	(void)state;
	for (int i = 0; i < 40; i++)
		put_late(w, i, 6, begin + 2 * AGE_MS);
	for (int i = 0; i < 80; i++)
		world_put(w, key_name(i), begin + 100);
	world_settle(w);
	look(&fx, w);
	expect_resizes(&fx, "6>12 history");
	assert_int_equal(findings(&fx, "copartition-break"), 0);
	fixture_close(&fx);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resizes_are_found),
		cmocka_unit_test(test_known_counts),
		cmocka_unit_test(test_an_earlier_run_knew),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_late_records),
		cmocka_unit_test(test_runs_have_seen_the_count),
		cmocka_unit_test(test_a_clock_ahead),
	};

	name_all();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Earlier partition counts out of the history alone: what is inferred, and what never is, whatever the order of the
 * records and whoever misplaced them.
 */
#include "analyzer/resize.h"

#include "analyzer/fold.h"
#include "resize_world.h"

/* --- what is no resize -------------------------------------------------------------------------------------------- */

struct random {
	uint64_t state;
};

static uint32_t next(struct random *r)
{
	r->state = r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(r->state >> 33);
}

/* The earlier counts of a world, the latest first, in an index that is empty again afterwards. The caller frees. */
static char *counts_of(struct fixture *fx, const struct world *w)
{
	struct fold_topics topics;
	struct trouble t = { 0 };
	char *got = xstrdup("");

	must(db_begin(fx->db, &t), &t);
	fixture_add(fx, w);
	must(fold_topics_load(&fx->run, fx->db, &topics, &t), &t);
	must(resize_find(&fx->run, fx->db, &topics.items[0], &t), &t);
	for (size_t i = 1; i < topics.items[0].count_n; i++) {
		char *longer = xprintf("%s%s%d", got, *got ? " " : "", (int)topics.items[0].count[i]);

		free(got);
		got = longer;
	}
	fold_topics_release(&topics);
	db_rollback(fx->db);
	fx->run.id = 0;
	return got;
}

static void expect_none(struct fixture *fx, const struct world *w, const char *what, uint64_t seed)
{
	char *got = counts_of(fx, w);

	if (*got)
		fail_msg("%s, seed %llu: %s", what, (unsigned long long)seed, got);
	free(got);
}

static int32_t placed_by(const struct partitioner *p, const char *key, int32_t count)
{
	return placer_partition(&(struct placer){ p, KEYPART_WHOLE }, key, strlen(key), count);
}

/* Partitions begin in any order, within seconds or much apart; producers place keys by one function. */
static void never_resized(const char *partitioner, uint64_t seeds, bool slow_start, bool by_partition)
{
	const struct partitioner *p = partitioner_by_name(partitioner, strlen(partitioner));
	struct fixture fx;

	fixture_open(&fx);
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct random r = { seed * 977 };
		struct world *w = world_new();
		int32_t n = 2 + (int32_t)(next(&r) % 31);
		int64_t begin[WORLD_PARTITIONS];

		size_topic(w, n);
		for (int32_t i = 0; i < n; i++)
			begin[i] = slow_start ? (int)(next(&r) % 700) : by_partition ? i * 900 / n : 0;
		for (int i = 0; i < 900; i++) {
			const char *key = names[next(&r) % 2500];
			int32_t at = placed_by(p, key, n);

			if (i >= begin[at])
				world_put_in(&w->topic[0], at, key, 1000 + i * 200);
		}
		expect_none(&fx, w, partitioner, seed);
		world_free(w);
	}
	fixture_close(&fx);
}

static void test_never_resized(void **state)
{
	(void)state;
	never_resized("murmur2", 30, false, false);
	never_resized("murmur2", 30, true, false);
	never_resized("murmur2", 30, false, true);
}

static void test_other_partitioners(void **state)
{
	(void)state;
	for (int i = 1; i < PARTITIONER_COUNT; i++)
		never_resized(partitioners[i].name, 3, true, i % 2);
}

/* A producer beside the right one goes by another count: it is not a time when the topic had it. */
static void test_a_wrong_count_beside(void **state)
{
	struct fixture fx;

	(void)state;
	fixture_open(&fx);
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct random r = { seed * 31 };
		struct world *w = world_new();
		int32_t n = 3 + (int32_t)(next(&r) % 22), wrong = 2 + (int32_t)(next(&r) % (uint32_t)(n - 2));

		size_topic(w, n);
		for (int i = 0; i < 900; i++) {
			const char *key = names[next(&r) % 2500];

			world_put_in(&w->topic[0], home_of(key, next(&r) % 4 ? n : wrong), key, 1000 + i * 10);
		}
		expect_none(&fx, w, "wrong count", seed);
		world_free(w);
	}
	fixture_close(&fx);
}

/* Too little to say anything. */
static void test_few_keys(void **state)
{
	struct fixture fx;

	(void)state;
	fixture_open(&fx);
	for (int keys = 1; keys <= 8; keys++) {
		const struct phase phase[] = { { 6, 0, keys, 300, 1000 }, { 12, 0, 200, 200, AT }, { 0 } };
		struct world *w = world_of(12, phase);

		expect_none(&fx, w, "few keys", (uint64_t)keys);
		world_free(w);
	}
	fixture_close(&fx);
}

/* Any two counts, any number of keys: what is inferred is right. */
static void test_any_resize(void **state)
{
	struct fixture fx;
	int found = 0;

	(void)state;
	fixture_open(&fx);
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct random r = { seed * 131 };
		int32_t n = 2 + (int32_t)(next(&r) % 31), from = 1 + (int32_t)(next(&r) % (uint32_t)(n - 1));
		int keys = 5 + (int)(next(&r) % 120);
		const struct phase phase[] = { { from, 0, keys, 2 * keys, 1000 }, { n, 0, 300, 300, AT }, { 0 } };
		struct world *w = world_of(n, phase);
		char *want = xprintf("%d", (int)from);
		char *got = counts_of(&fx, w);

		found += strcmp(got, want) == 0;
		if (*got ? strcmp(got, want) != 0 : keys > 60 && from > 2)
			fail_msg("%s to %d with %d keys: %s", want, (int)n, keys, got);
		free(want);
		free(got);
		world_free(w);
	}
	fixture_close(&fx);
	print_message("  %d of 60 found\n", found);
}

/* --- histories that are not in order, or not whole ---------------------------------------------------------------- */

/*
 * Times are those of events, up to lag_ms before the record is written; 6 partitions become 12 after half of the
 * records. Nobody may be accused, whatever the seed.
 */
static struct world *lagging(uint64_t seed, int lag_ms)
{
	struct random r = { seed * 17 };
	struct world *w = world_new();

	size_topic(w, 12);
	for (int i = 0; i < 900; i++) {
		const char *key = names[next(&r) % 300];
		int64_t lag = next(&r) % 3 ? 0 : next(&r) % (uint32_t)lag_ms;

		world_put_in(&w->topic[0], home_of(key, i < 450 ? 6 : 12), key, 900000 + i * 1000 - lag);
	}
	return w;
}

static int64_t breaks(struct fixture *fx)
{
	return FIXTURE_SQL(fx, "SELECT coalesce(sum(records), 0) FROM placement WHERE legal IN (0, 3) AND 1 = ?1", 1);
}

static void fold_world(struct fixture *fx, const struct world *w)
{
	struct trouble t = { 0 };

	fixture_open(fx);
	fx->run.memory = (size_t)8 << 20;
	fixture_add(fx, w);
	must(fold_run(&fx->run, fx->db, &t), &t);
}

static void test_times_that_fall(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct world *w = lagging(seed, seed % 2 ? 20000 : 800000);
		struct fixture fx;

		fold_world(&fx, w);
		expect_resizes(&fx, "6>12 history");
		assert_int_equal(breaks(&fx), 0);
		fixture_close(&fx);
		world_free(w);
	}
}

/* The upper partitions have lost their beginning, so the change seems later than it was. */
static void test_a_trimmed_history(void **state)
{
	const struct phase phase[] = { { 6, 0, 80, 300, 1000 }, { 12, 0, 100, 400, AT }, { 0 } };
	struct world *w = world_of(12, phase);
	struct world_topic *t = &w->topic[0];
	struct fixture fx;
	size_t kept = 0;

	(void)state;
	for (size_t i = 0; i < t->records; i++) {
		struct world_record *r = &t->record[i];

		if (r->partition >= 6 && r->ms < AT + 200)
			t->part[r->partition].first = t->part[r->partition].log_start = r->offset + 1;
		else
			t->record[kept++] = *r;
	}
	t->records = kept;
	fold_world(&fx, w);
	expect_resizes(&fx, "6>12 history");
	assert_int_equal(breaks(&fx), 0);
	assert_text(&fx, "SELECT begin_late FROM topic_resize", "1");
	fixture_close(&fx);
	world_free(w);
}

/* One record of five is misplaced by crc32: the resize is found, and no more is excused than it explains. */
static void test_noise(void **state)
{
	const struct partitioner *crc32 = &partitioners[PARTITIONER_crc32];
	struct random r = { 5 };
	struct world *w = world_new();
	struct fixture fx;
	int64_t wrong = 0;

	(void)state;
	size_topic(w, 12);
	for (int i = 0; i < 1200; i++) {
		const char *key = names[next(&r) % 500];
		int32_t count = i < 600 ? 6 : 12, home = home_of(key, count);
		int32_t at = next(&r) % 5 ? home : placed_by(crc32, key, count);

		wrong += at != home_of(key, 6) && at != home_of(key, 12);
		world_put_in(&w->topic[0], at, key, 1000 + i * 10);
	}
	fold_world(&fx, w);
	expect_resizes(&fx, "6>12 history");
	assert_int_equal(breaks(&fx), wrong);
	fixture_close(&fx);
	world_free(w);
}

/* Also where the pipeline's producers rightly use another partitioner. */
static void test_another_placer(void **state)
{
	const struct partitioner *crc32 = &partitioners[PARTITIONER_crc32];
	struct world *w = world_new();
	struct fixture fx;

	(void)state;
	w->pipeline.partitioner = "crc32";
	size_topic(w, 12);
	for (int i = 0; i < 400; i++)
		world_put_in(&w->topic[0], placed_by(crc32, names[i % 90], i < 200 ? 6 : 12), names[i % 90], 1000 + i);
	fold_world(&fx, w);
	expect_resizes(&fx, "6>12 history");
	assert_int_equal(breaks(&fx), 0);
	fixture_close(&fx);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_resized),
		cmocka_unit_test(test_other_partitioners),
		cmocka_unit_test(test_a_wrong_count_beside),
		cmocka_unit_test(test_few_keys),
		cmocka_unit_test(test_any_resize),
		cmocka_unit_test(test_times_that_fall),
		cmocka_unit_test(test_a_trimmed_history),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_another_placer),
	};

	name_all();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

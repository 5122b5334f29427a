/* Keys with a large share of a partition's records: by the counters alone, and through a fold. */
#include "analyzer/hot.h"

#include "check_said.h"

#include "analyzer/fold.h"

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* Whatever the order, a hash with more than one record in 129 is among the counters at the end. */
static void test_none_is_missed(void **state)
{
	enum { MANY = 20000 };
	struct hot hot = { .count = 0 };

	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		uint64_t r = seed;
		size_t heavy = 1 + next(&r) % 100, found = 0;

		hot_begin(&hot);
		for (int i = 0; i < MANY; i++) {
			/* Each heavy hash has 1 % at least, all of them first, or all last, or in between. */
			int at = seed % 3 == 0 ? i : seed % 3 == 1 ? MANY - 1 - i : (i * 7919) % MANY;

			hot_add(&hot, at < (int)heavy * 200 ? at / 200 + 1 : (int64_t)(next(&r) >> 1 | 1024));
		}
		assert_int_equal(hot.seen, MANY);
		hot_candidates(&hot, 0.02);
		for (size_t i = 0; i < hot.count; i++) {
			found += hot.keys[i].hash <= (int64_t)heavy;
			assert_int_equal(hot.keys[i].records, 0);
			assert_true(i == 0 || hot.keys[i - 1].hash < hot.keys[i].hash);
		}
		assert_int_equal(found, heavy);
	}
	hot_release(&hot);
}

/* A candidate's records are counted exactly, and those of another key with its hash are not. */
static void test_exact(void **state)
{
	struct hot hot = { .count = 0 };

	(void)state;
	hot_begin(&hot);
	for (int i = 0; i < 100; i++)
		hot_add(&hot, 7);
	hot_add(&hot, 8);
	assert_int_equal(hot_candidates(&hot, 0.2), 1);
	hot_exact(&hot, 7, "a", 1);
	hot_exact(&hot, 7, "b", 1);
	hot_exact(&hot, 8, "c", 1);
	hot_exact(&hot, 7, "a", 1);
	assert_int_equal(hot.keys[0].records, 2);
	assert_int_equal(hot.keys[0].key_size, 1);
	hot_begin(&hot);
	assert_int_equal(hot_candidates(&hot, 0.2), 0);
	hot_release(&hot);
}

enum { RECORDS = 12000 };

/* One partition: a key has every fourth record; the rest are of keys of their own. */
static struct world *one_hot_key(int records)
{
	struct world *w = world_new();

	w->topic[0].partitions = w->topic[0].fact.partitions = w->topic[0].fact.partitions_at_start = 1;
	for (int i = 0; i < records; i++)
		world_put_in(&w->topic[0], 0, i % 4 ? xprintf("user-%d", i) : xstrdup("hot"), i);
	return w;
}

static void fold(struct fixture *fx, struct world *w, size_t memory)
{
	struct trouble t = { 0 };

	fixture_open(fx);
	fixture_add(fx, w);
	fx->run.memory = memory;
	must(fold_run(&fx->run, fx->db, &t), &t);
}

static void end(struct fixture *fx, struct world *w)
{
	fixture_close(fx);
	for (size_t i = 0; i < w->topic[0].records; i++)
		free((void *)(uintptr_t)w->topic[0].record[i].key);
	world_free(w);
}

/* At its share it is told, above it is not; whether or not the sample has the key. */
static void test_fold(void **state)
{
	static const struct {
		int records;
		int64_t share, keys;
		size_t memory;
	} rows[] = { { RECORDS, 250, 1, 1 << 28 }, { RECORDS, 251, 0, 1 << 28 },  { RECORDS, 20, 1, 1 },
		     { RECORDS, UNKNOWN, 0, 1 << 28 }, { 9999, 20, 0, 1 << 28 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = one_hot_key(rows[i].records);
		struct fixture fx;

		w->pipeline.hot_share = rows[i].share;
		fold(&fx, w, rows[i].memory);
		assert_int_equal(FIXTURE_SQL(&fx, "SELECT count(*) FROM hot_key WHERE ?1", 1), rows[i].keys);
		if (rows[i].keys)
			assert_int_equal(FIXTURE_SQL(&fx, "SELECT records FROM hot_key WHERE key = CAST('hot' AS BLOB) AND ?1", 1),
					 RECORDS / 4);
		end(&fx, w);
	}
}

/* Four keys of 3,000 records each: two share slot 1, and two have one of their own. */
static struct world *two_in_a_slot(int64_t cluster_plan)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	struct world *w = world_new();

	w->topic[0].partitions = w->topic[0].fact.partitions = w->topic[0].fact.partitions_at_start = 1;
	for (int i = 0; i < RECORDS; i++)
		world_put_in(&w->topic[0], 0, names[i % 4], i);
	world_settle(w);
	for (int i = 0; i < 4; i++)
		world_fence_of(w, names[i])->fact.slot = i < 2 ? 1 : i;
	w->pipeline.cluster_plan = cluster_plan;
	w->pipeline.hot_share = 500;
	return w;
}

/* A slot is told of in a cluster, when several keys make it hot. */
static void test_slots(void **state)
{
	(void)state;
	for (int plan = 0; plan < 2; plan++) {
		struct world *w = two_in_a_slot(plan);
		struct fixture fx;

		fixture_open(&fx);
		fixture_add(&fx, w);
		analyze(&fx);
		assert_int_equal(FIXTURE_SQL(&fx, "SELECT count(*) FROM finding WHERE name = 'key-hot' AND ?1", 1), plan);
		if (plan)
			assert_text(&fx, "SELECT detail || ' ' || evidence FROM finding WHERE name = 'key-hot'",
				    "Slot 1 has 50.0 % of the records of the sampled keys: 6000 of 12000, of 2 keys. "
				    "{\"slot\":1,\"keys\":2,\"records\":6000,\"of\":12000,\"share\":0.5,\"limit\":0.5}");
		fixture_close(&fx);
		world_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none_is_missed),
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_fold),
		cmocka_unit_test(test_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The sample of a topic without fences, which is made smaller while its records stream by: what is left must be what a
 * smaller sample would have been from the beginning.
 */
#include "analyzer/fold.h"
#include "analyzer/fold_state.h"

#include "index_fixture.h"

enum { KEYS = 230000, KEY_TEXT = 16 };

/* A key by its number: how many records it has at home, how many of them tombstones, how many elsewhere. */
static int at_home(int key)
{
	return 1 + key % 3;
}

static int tombstones(int key)
{
	return key % 7 == 0;
}

static int strays(int key)
{
	return key % 10 == 0 ? 2 : 0;
}

/* What the index must say of the keys below a threshold. */
struct expected {
	int64_t keys, rows, accepted, ignored, refused, keyed;
};

static struct expected expect(const char (*name)[KEY_TEXT], int64_t threshold)
{
	struct expected e = { 0 };

	for (int key = 0; key < KEYS; key++) {
		e.keyed += at_home(key) + strays(key);
		if (key_hash(name[key], strlen(name[key])) >= threshold)
			continue;
		e.keys++;
		e.rows += 1 + (strays(key) > 0);
		e.accepted += at_home(key) - tombstones(key);
		e.ignored += tombstones(key);
		e.refused += strays(key);
	}
	return e;
}

/* The largest threshold that leaves no more keys than a sample may have. */
static int64_t threshold_of(const char (*name)[KEY_TEXT])
{
	int64_t threshold = INT64_MAX;

	for (int bit = 62; expect(name, threshold).keys > UNFENCED_KEYS; bit--)
		threshold = INT64_C(1) << bit;
	return threshold;
}

static struct world *make(char (*name)[KEY_TEXT], int32_t partitions)
{
	struct world *w = world_new();
	struct world_topic *t = &w->topic[0];

	w->pipeline.redis = NULL;
	w->pipeline.tombstones = "ignore";
	t->partitions = t->fact.partitions = t->fact.partitions_at_start = partitions;
	t->fact.main_threshold = t->fact.recent_threshold = UNKNOWN;
	for (int key = 0; key < KEYS; key++)
		snprintf(name[key], sizeof(name[key]), "k%d", key);
	/* Round by round, so that the records of a key stand far apart. */
	for (int round = 0; round < 3; round++)
		for (int key = 0; key < KEYS; key++) {
			int32_t home = home_of(name[key], partitions);

			if (round < at_home(key))
				world_put_in(t, home, name[key], 1000 + round)->tombstone =
					round == 0 && tombstones(key);
			if (round < strays(key))
				world_put_in(t, (home + 1) % partitions, name[key], 1000 + round);
		}
	for (int32_t p = 0; p < partitions; p++)
		t->part[p].committed = t->part[p].next;
	return w;
}

/* Every row of key_state against the records of the world. */
static void check_rows(struct fixture *fx, int32_t partitions, int64_t threshold)
{
	struct trouble t = { 0 };
	sqlite3_stmt *rows;
	int more;

	must(db_prepare(fx->db, "SELECT partition, key, records, first_ms, last_ms, hash FROM key_state", &rows, &t), &t);
	while ((more = db_step(rows, &t)) > 0) {
		char text[KEY_TEXT] = { 0 };
		int key, records;

		memcpy(text, sqlite3_column_blob(rows, 1), (size_t)sqlite3_column_bytes(rows, 1));
		key = atoi(text + 1);
		records = home_of(text, partitions) == sqlite3_column_int(rows, 0) ? at_home(key) : strays(key);
		assert_int_equal(sqlite3_column_int(rows, 2), records);
		assert_int_equal(sqlite3_column_int(rows, 3), 1000);
		assert_int_equal(sqlite3_column_int(rows, 4), 1000 + records - 1);
		assert_true(sqlite3_column_int64(rows, 5) < threshold);
	}
	must(more, &t);
	sqlite3_finalize(rows);
}

#define VERDICT(fx, word) FIXTURE_SQL(fx, "SELECT records FROM verdict_count WHERE verdict = '" word "' AND ?1", 1)

static void check_fold(struct fixture *fx, const char (*name)[KEY_TEXT], int32_t partitions)
{
	int64_t threshold = threshold_of(name);
	struct expected e = expect(name, threshold);

	assert_in_range(e.keys, UNFENCED_KEYS / 3, UNFENCED_KEYS);
	assert_int_equal(FIXTURE_SQL(fx, "SELECT threshold FROM topic_state WHERE ?1", 1), threshold);
	assert_int_equal(FIXTURE_SQL(fx, "SELECT count(*) FROM key_state WHERE ?1", 1), e.rows);
	assert_int_equal(FIXTURE_SQL(fx, "SELECT count(DISTINCT key) FROM key_state WHERE ?1", 1), e.keys);
	check_rows(fx, partitions, threshold);
	assert_int_equal(VERDICT(fx, "APPLY"), e.accepted);
	assert_int_equal(VERDICT(fx, "DLQ"), e.refused);
	assert_int_equal(VERDICT(fx, "ignored"), e.ignored);
	assert_int_equal(VERDICT(fx, "unsampled"), e.keyed - e.accepted - e.refused - e.ignored);
	assert_int_equal(FIXTURE_SQL(fx, "SELECT sum(records) FROM placement WHERE ?1", 1), e.keyed);
	assert_int_equal(FIXTURE_SQL(fx, "SELECT sum(keys) FROM placement WHERE ?1", 1), KEYS + KEYS / 10);
}

/* With one partition all keys stream by before any is forgotten; with more, earlier partitions have some to forget. */
static void test_thinned(void **state)
{
	static const int32_t partitions[] = { 2, 6 };
	char(*name)[KEY_TEXT] = xarray(KEYS, sizeof(*name));

	(void)state;
	for (size_t i = 0; i < sizeof(partitions) / sizeof(*partitions); i++) {
		struct world *w = make(name, partitions[i]);
		struct trouble t = { 0 };
		struct fixture fx;

		fixture_open(&fx);
		fixture_add(&fx, w);
		must(db_begin(fx.db, &t), &t);
		must(fold_run(&fx.run, fx.db, &t), &t);
		must(db_commit(fx.db, &t), &t);
		check_fold(&fx, (const char(*)[KEY_TEXT])name, partitions[i]);
		fixture_close(&fx);
		world_free(w);
	}
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_thinned) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

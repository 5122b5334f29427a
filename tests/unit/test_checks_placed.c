/*
 * The checks where keys are placed by another partitioner than Kafka's own, or have no home by it. Four keys in four
 * partitions by CRC-32: their homes by murmur2 are others.
 */
#include "check_table.h"

#include "sql/placer.h"

/* The i-th of the keys k0, k1 ... whose home by the partitioner is p of 4. */
static const char *placed(const char *partitioner, int32_t p, int i)
{
	struct placer placer;

	assert_true(placer_parse(partitioner, &placer));
	for (int k = 0;; k++)
		if (placer_partition(&placer, key_name(k), strlen(key_name(k)), 4) == p && i-- == 0)
			return key_name(k);
}

static void by_crc32(struct world *w)
{
	w->pipeline.partitioner = "crc32";
	for (int round = 0; round < 3; round++)
		for (int32_t p = 0; p < 4; p++)
			for (int i = 0; i < 2; i++)
				world_put_in(&w->topic[0], p, placed("crc32", p, i), 1000 * round + 10 * p + i);
	world_settle(w);
}

/* Seven characters at most: too short for the start of a window. */
static void without_homes(struct world *w)
{
	for (int round = 0; round < 3; round++)
		for (int k = 0; k < 4; k++)
			world_put(w, key_name(k), 1000 * round + k);
	world_settle(w);
	w->pipeline.partitioner = "murmur2/windowed";
}

static void set_back(struct world *w)
{
	world_set(w, placed("crc32", 2, 0), 2, 0);
}

/* One that another producer places by murmur2. */
static void misplaced(struct world *w)
{
	const char *key = placed("crc32", 2, 0);

	assert_int_not_equal(home_of(key, 4), 2);
	world_put(w, key, 5000);
	w->topic[0].part[home_of(key, 4)].committed++;
}

static void malformed(struct world *w)
{
	world_set(w, key_name(0), 0, 0)->fact.malformed = "offset is not-decimal";
	world_fence_of(w, key_name(0))->fact.offset = UNKNOWN;
}

static void test_placed(void **state)
{
	const char *key = placed("crc32", 2, 0);
	int32_t away = home_of(key, 4);
	char *words[] = {
		xprintf("fence-regressed error orders/2@4 %s: The fence of key %s stands at 0 in partition 2, and must be at or "
			"above 4 in partition 2: 2 records are lost.\n",
			key, key),
		xprintf("copartition-cause error orders/-@- -: At 1970-01-01T00:00:05.000Z 1 record of 1 key of orders stands off "
			"home: too few keys to tell by what; at least 15 distinct ones are needed.\n"
			"copartition-break error orders/%d@6 %s: The key %s has 1 record in partition %d, from 6 to 6, and is at "
			"home in partition 2.\n",
			away, key, key, away),
	};
	const struct row rows[] = {
		{ "by another partitioner: regressed", NULL, by_crc32, set_back, "", words[0] },
		{ "by another partitioner: off home", NULL, by_crc32, misplaced, "", words[1] },
		{ "no home", NULL, without_homes, malformed,
		  "fence-regressed ? no-home 4\nfence-off-home ? no-home 4\nfence-rebased ? no-home 4\n"
		  "copartition-break ? no-home 12\n",
		  "fence-malformed error orders/-@- k0: The fence of key k0 cannot be read: offset is not-decimal.\n"
		  "fence-regressed ? no-home 3\nfence-off-home ? no-home 3\nfence-rebased ? no-home 3\n"
		  "copartition-break ? no-home 12\n" },
	};

	(void)state;
	expect_all(rows, sizeof(rows) / sizeof(*rows));
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		free(words[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_placed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

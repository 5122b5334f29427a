/*
 * Attribution: which partitioner put keys off their home, from the keys alone. What it answers, case by case;
 * test_attribute_sim.c asks how often it is right.
 */
#include "analyzer/attribute.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/hypotheses.h"
#include "attribute_topic.h"
#include "sql/mem.h"

static struct attribute_result ask_of(struct topic *topic, const struct attribute_placement *at, enum shape shape,
				      size_t keys)
{
	struct maker maker = { shape, 1 };

	topic->own = topic->own.partitioner ? topic->own : murmur2_whole;
	topic_fill(topic, &maker, at, keys);
	return ask(topic);
}

/* Of a power of two, losing the sign one way or the other is the same, and one answer. */
static void test_power_of_two(void **state)
{
	struct attribute_placement at = placement(PARTITIONER_crc32_mask, KEYPART_WHOLE, 16);
	struct topic topic = { .n = 16 };
	struct attribute_result result = ask_of(&topic, &at, SHAPE_UUID, 1000);

	(void)state;
	assert_int_equal(result.n, 1);
	assert_int_equal(result.cause[0].classes, 1);
	assert_int_equal(result.cause[0].placement_n, 2);
	assert_string_equal(result.cause[0].placements[0].placer.partitioner->name, "crc32");
	assert_string_equal(result.cause[0].placements[1].placer.partitioner->name, "crc32_mask");
	assert_int_equal(result.cause[0].explained, topic.seen_n);
	assert_int_equal(result.left, 0);
	attribute_release(&result);
	topic_release(&topic);
}

/* Of a pipeline whose keys are rightly placed by another function, murmur2 is the culprit. */
static void test_own_partitioner(void **state)
{
	struct attribute_placement at = placement(PARTITIONER_murmur2, KEYPART_WHOLE, 12);
	struct topic topic = { .n = 12, .own = { &partitioners[PARTITIONER_crc32], KEYPART_WHOLE } };
	struct attribute_result result = ask_of(&topic, &at, SHAPE_TEXT, 500);

	(void)state;
	assert_int_equal(result.n, 1);
	assert_int_equal(result.cause[0].classes, 1);
	assert_true(has(&result.cause[0], &at));
	assert_int_equal(result.cause[0].placement_n, 1);
	attribute_release(&result);
	topic_release(&topic);
}

/* Too few keys: nothing, then several, then one. */
static void test_number_of_keys(void **state)
{
	static const struct {
		size_t keys, causes, classes;
	} asked[] = { { 3, 0, 0 }, { 5, 0, 0 }, { 40, 1, 1 } };
	struct attribute_placement at = placement(PARTITIONER_crc32, KEYPART_WHOLE, 12);

	(void)state;
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		struct topic topic = { .n = 12 };
		struct attribute_result result = ask_of(&topic, &at, SHAPE_TEXT, asked[i].keys);

		assert_int_equal(result.n, asked[i].causes);
		if (result.n)
			assert_int_equal(result.cause[0].classes, asked[i].classes);
		else
			assert_int_equal(result.left, topic.seen_n);
		attribute_release(&result);
		topic_release(&topic);
	}
}

/* The same keys in several partitions: no function of the key does that. */
static void test_same_key_in_several_partitions(void **state)
{
	struct topic topic = { .n = 12, .own = murmur2_whole };
	struct attribute_result result;

	(void)state;
	random_state = 5;
	for (int partition = 0; partition < 12; partition++) {
		struct maker maker = { SHAPE_TEXT, 1 };
		uint8_t key[KEY_ROOM];

		random_state = 6; /* the same keys again */
		for (int i = 0; i < 200; i++) {
			size_t size = make_key(&maker, key);

			topic_add(&topic, (struct key_bytes){ key, size }, partition);
		}
	}
	result = ask(&topic);
	assert_int_equal(result.n, 0);
	assert_int_equal(result.left, topic.seen_n);
	attribute_release(&result);
	topic_release(&topic);
}

/* Keys of one or two bytes, all of them. */
static void test_short_keys(void **state)
{
	struct attribute_placement at = placement(PARTITIONER_crc32, KEYPART_WHOLE, 12);
	struct topic topic = { .n = 12, .own = murmur2_whole };
	struct attribute_result result;

	(void)state;
	for (int i = 0; i < 1024; i++) {
		uint8_t key[2] = { (uint8_t)i, (uint8_t)(i >> 8) };
		size_t size = i < 256 ? 1 : 2;

		topic_add(&topic, (struct key_bytes){ key, size }, placer_partition(&at.placer, key, size, 12));
	}
	result = ask(&topic);
	assert_int_equal(result.n, 1);
	assert_int_equal(result.cause[0].classes, 1);
	assert_true(has(&result.cause[0], &at));
	attribute_release(&result);
	topic_release(&topic);
}

/* What does not say anything gives no cause: no key, one partition. */
static void test_nothing_to_say(void **state)
{
	struct topic topics[] = { { .n = 12, .own = murmur2_whole }, { .n = 1, .own = murmur2_whole } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct attribute_result result = ask(&topics[i]);

		assert_int_equal(result.n, 0);
		assert_int_equal(result.left, 0);
		attribute_release(&result);
	}
}

/* Functions that differ only on hashes that hardly ever come are one class, and one answer. */
static void test_functions_that_hardly_differ(void **state)
{
	struct attribute_placement at = placement(PARTITIONER_kafka_node_keyed, KEYPART_WHOLE, 12);
	struct topic topic = { .n = 12 };
	struct attribute_result result = ask_of(&topic, &at, SHAPE_UUID, 1000);

	(void)state;
	assert_int_equal(result.n, 1);
	assert_int_equal(result.cause[0].classes, 1);
	assert_int_equal(result.cause[0].placement_n, 3);
	assert_string_equal(result.cause[0].placements[0].placer.partitioner->name, "java_string_mask");
	assert_string_equal(result.cause[0].placements[1].placer.partitioner->name, "kafka_node_keyed");
	assert_string_equal(result.cause[0].placements[2].placer.partitioner->name, "debezium_java_string");
	attribute_release(&result);
	topic_release(&topic);
}

/* Whether the key would be counted as a match. */
static bool matches(const struct placer *placer, int32_t count, const struct attribute_seen *seen)
{
	return placer_partition(placer, seen->key.bytes, seen->key.len, count) == seen->partition;
}

static int by_partition(const void *a, const void *b)
{
	const struct attribute_seen *x = a, *y = b;

	return (x->partition > y->partition) - (x->partition < y->partition);
}

/* Matches are counted without a division; they are what dividing says. */
static void test_matches(void **state)
{
	static const int32_t known[] = { 77, 3000000, INT32_MAX };
	struct topic topic = { .n = 31, .own = murmur2_whole };
	struct maker maker = { SHAPE_BINARY, 1 };
	struct hypotheses_keys keys = { 0 };
	struct hypotheses_counts counts;
	struct hypotheses h = { 0 };
	struct key_bytes *key;
	int32_t *partition;

	(void)state;
	random_state = 9;
	topic_fill(&topic, &maker, NULL, 300);
	qsort(topic.seen, topic.seen_n, sizeof(*topic.seen), by_partition);
	key = xarray(topic.seen_n, sizeof(*key));
	partition = xarray(topic.seen_n, sizeof(*partition));
	for (; keys.n < topic.seen_n; keys.n++) {
		key[keys.n] = topic.seen[keys.n].key;
		partition[keys.n] = topic.seen[keys.n].partition;
	}
	keys.key = key;
	keys.partition = partition;
	hypotheses_counts(topic.n, known, 3, &counts);
	assert_int_equal(counts.n, 126);
	hypotheses_match(&h, &keys, &counts);
	assert_in_range(h.placer_n, 4 * PARTITIONER_COUNT, KEYPART_COUNT * PARTITIONER_COUNT);
	for (size_t i = 0; i < h.placer_n; i++)
		for (size_t j = 0; j < counts.n; j++) {
			uint32_t want = 0;

			for (size_t k = 0; k < topic.seen_n; k++)
				want += matches(&h.placers[i], counts.count[j], &topic.seen[k]);
			assert_int_equal(h.matched[i * counts.n + j], want);
		}
	hypotheses_release(&h);
	free(counts.count);
	free(key);
	free(partition);
	topic_release(&topic);
}

/* Few partitions and many. */
static void test_counts(void **state)
{
	static const int32_t topics[] = { 1, 2, 3, 12, 255, 1024, 1025, 5000 };

	(void)state;
	random_state = 7;
	for (size_t i = 0; i < sizeof(topics) / sizeof(*topics); i++) {
		struct attribute_placement at = placement(PARTITIONER_crc32, KEYPART_WHOLE, topics[i]);
		struct topic topic = { .n = topics[i] };
		struct attribute_result result = ask_of(&topic, &at, SHAPE_BINARY, 400);

		assert_int_equal(result.n, topics[i] > 1);
		for (size_t j = 0; j < result.n; j++) {
			assert_int_equal(result.cause[j].classes, 1);
			assert_true(has(&result.cause[j], &at));
		}
		attribute_release(&result);
		topic_release(&topic);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_power_of_two),
		cmocka_unit_test(test_functions_that_hardly_differ),
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_own_partitioner),
		cmocka_unit_test(test_number_of_keys),
		cmocka_unit_test(test_same_key_in_several_partitions),
		cmocka_unit_test(test_short_keys),
		cmocka_unit_test(test_nothing_to_say),
		cmocka_unit_test(test_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Keys placed by functions that are not in the list, but relatives of some that are: an answer must be rare. */
#include "analyzer/attribute_left.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sql/mem.h"

enum { TRIALS = 600, KEY_ROOM = 24 };

static uint64_t state;

static uint64_t random_next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static size_t random_between(size_t least, size_t most)
{
	return least + random_next() % (most - least + 1);
}

/* --- functions that are in no list ------------------------------------------------------------------------------- */

static uint32_t sum(const uint8_t *key, size_t size)
{
	uint32_t h = 0;

	for (size_t i = 0; i < size; i++)
		h += key[i];
	return h;
}

static uint32_t adler32(const uint8_t *key, size_t size)
{
	uint32_t a = 1, b = 0;

	for (size_t i = 0; i < size; i++) {
		a = (a + key[i]) % 65521;
		b = (b + a) % 65521;
	}
	return b << 16 | a;
}

static uint32_t times33(const uint8_t *key, size_t size)
{
	uint32_t h = 5381;

	for (size_t i = 0; i < size; i++)
		h = h * 33 + key[i];
	return h;
}

/* The digits of a text, or the bytes of a number. */
static uint32_t number(const uint8_t *key, size_t size)
{
	uint32_t h = 0;

	for (size_t i = 0; i < size; i++)
		h = key[i] >= '0' && key[i] <= '9' ? h * 10 + key[i] - '0' : h << 8 | key[i];
	return h;
}

static uint32_t last_byte(const uint8_t *key, size_t size)
{
	return key[size - 1];
}

/* FNV-1, which multiplies first. */
static uint32_t fnv1(const uint8_t *key, size_t size)
{
	uint32_t h = 0x811c9dc5;

	for (size_t i = 0; i < size; i++)
		h = h * 0x01000193 ^ key[i];
	return h;
}

/* --- topics ------------------------------------------------------------------------------------------------------ */

struct topic {
	struct attribute_seen *seen;
	struct key_bytes *sampled;
	size_t seen_n, sampled_n;
	int32_t partitions;
};

static size_t make_key(int shape, uint64_t i, uint8_t *out)
{
	if (shape == 0)
		return (size_t)snprintf((char *)out, KEY_ROOM, "user-%llu", (unsigned long long)i);
	if (shape == 1)
		return (size_t)snprintf((char *)out, KEY_ROOM, "%llu", (unsigned long long)i);
	for (size_t at = 0; at < 8; at++)
		out[at] = (uint8_t)(i >> (8 * (7 - at)));
	return 8;
}

static void add(struct topic *topic, const uint8_t *key, size_t size, int32_t partition)
{
	struct key_bytes copy = { xmemdup(key, size), size };

	topic->sampled[topic->sampled_n++] = copy;
	if (home_partition(key, size, topic->partitions) != partition)
		topic->seen[topic->seen_n++] = (struct attribute_seen){ copy, partition };
}

static struct topic topic_new(int32_t partitions, size_t room)
{
	return (struct topic){ xarray(room, sizeof(struct attribute_seen)), xarray(room, sizeof(struct key_bytes)), 0, 0,
			       partitions };
}

static void topic_free(struct topic *topic)
{
	for (size_t i = 0; i < topic->sampled_n; i++)
		free((void *)(uintptr_t)topic->sampled[i].bytes);
	free(topic->seen);
	free(topic->sampled);
}

static void ask(const struct topic *topic, struct attribute_result *result)
{
	struct attribute_input in = { .seen = topic->seen, .seen_n = topic->seen_n, .sampled = topic->sampled,
				      .sampled_n = topic->sampled_n, .partitions = topic->partitions,
				      .own = { &partitioners[PARTITIONER_murmur2], KEYPART_WHOLE } };

	attribute(&in, result);
}

/* --- tests ------------------------------------------------------------------------------------------------------- */

/* Answers that explain a part of the keys. One that explains them all could not be told from the function. */
static size_t wrong_answers(const struct topic *topic)
{
	struct attribute_result result = { 0 };
	size_t wrong = 0;

	ask(topic, &result);
	for (size_t i = 0; i < result.n; i++)
		wrong += result.cause[i].classes == 1 && result.cause[i].explained < topic->seen_n;
	attribute_release(&result);
	return wrong;
}

static void test_relatives(void **test)
{
	uint32_t (*const functions[])(const uint8_t *, size_t) = { sum, adler32, times33, number, last_byte, fnv1 };
	size_t wrong = 0;

	(void)test;
	state = 1;
	for (size_t trial = 0; trial < TRIALS; trial++) {
		size_t n = random_between(30, 800), first = random_between(0, 3000);
		int32_t partitions = (int32_t)random_between(3, 64);
		struct topic topic = topic_new(partitions, n);
		size_t which = trial % (sizeof(functions) / sizeof(*functions)), found;
		int shape = (int)(trial / 6 % 3);

		for (size_t i = 0; i < n; i++) {
			uint8_t key[KEY_ROOM];
			size_t size = make_key(shape, first + i, key);

			add(&topic, key, size, (int32_t)(functions[which](key, size) % (uint32_t)partitions));
		}
		found = wrong_answers(&topic);
		wrong += found > 0;
		topic_free(&topic);
	}
	print_message("relatives: %zu topics of %d with an answer, each of them wrong\n", wrong, TRIALS);
	assert_in_range(wrong, 0, TRIALS / 30);
}

/* One key in five by CRC-32, the others by chance, which does not speak against it. */
static void test_beside_chance(void **test)
{
	(void)test;
	state = 2;
	for (size_t trial = 0; trial < 100; trial++) {
		struct topic topic = topic_new((int32_t)random_between(4, 64), 1000);
		struct attribute_result result = { 0 };

		for (uint64_t i = 0; i < 1000; i++) {
			uint8_t key[KEY_ROOM];
			size_t size = make_key((int)(trial % 3), i, key);

			add(&topic, key, size,
			    i % 5 ? (int32_t)(random_next() % (uint64_t)topic.partitions)
				  : placer_partition(&(struct placer){ &partitioners[PARTITIONER_crc32], KEYPART_WHOLE }, key, size,
						     topic.partitions));
		}
		ask(&topic, &result);
		assert_int_equal(result.n, 1);
		assert_ptr_equal(result.cause[0].placements[0].placer.partitioner, &partitioners[PARTITIONER_crc32]);
		attribute_release(&result);
		topic_free(&topic);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_relatives),
		cmocka_unit_test(test_beside_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

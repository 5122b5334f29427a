/* Which keys off home are kept, and that those that are have all of their records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/offhome.h"
#include "sql/mem.h"

enum { KEYS = 250000, PARTITIONS = 5, ROUNDS = 3 };

static uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* same: so many neighbours share one hash. */
static void add(struct offhome *offhome, int i, int same, int64_t offset)
{
	char text[16];
	struct key key = { .hash = (int64_t)(mixed((uint64_t)(i / same) + 1) >> 1), .bytes = text };
	struct offhome_record record = { .offset = offset, .timestamp_ms = 10 * offset, .home = i % 7 };

	key.size = (uint32_t)snprintf(text, sizeof(text), "%d", i);
	offhome_add(offhome, &key, &record);
}

/* The keys of one partition, in rising order or in falling, all of them in each round. */
static void add_partition(struct offhome *offhome, int32_t partition, int same, bool falling)
{
	offhome_begin(offhome, partition);
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < KEYS; i++) {
			int key = falling ? KEYS - 1 - i : i;

			if (key % PARTITIONS == partition || key % 100 == 0)
				add(offhome, key, same, round);
		}
}

static int number_of(const struct offhome_key *key)
{
	int number = 0;

	for (uint32_t i = 0; i < key->key_size; i++)
		number = number * 10 + key->key[i] - '0';
	return number;
}

static void check_kept(const struct offhome *a, const struct offhome *b)
{
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		const struct offhome_key *x = &a->keys[i], *y = &b->keys[i];

		assert_int_equal(x->partition, y->partition);
		assert_int_equal(key_compare(x->hash, x->key, x->key_size, y->hash, y->key, y->key_size), 0);
		assert_int_equal(x->records, ROUNDS);
		assert_int_equal(y->records, ROUNDS);
		assert_int_equal(x->first_offset * 100 + x->last_offset, ROUNDS - 1);
		assert_int_equal(x->last_ms, 10 * (ROUNDS - 1));
		assert_int_equal(x->home, number_of(x) % 7);
		if (i > 0 && a->keys[i - 1].partition == x->partition)
			assert_true(a->keys[i - 1].hash <= x->hash);
	}
}

static int by_number(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The bound by sorting all hashes: whole hashes below it are kept. */
static size_t kept_of_sorted(int same)
{
	int64_t *hash = xarray((size_t)KEYS * 2, sizeof(*hash));
	size_t n = 0, keep = OFFHOME_KEYS;

	for (int p = 0; p < PARTITIONS; p++)
		for (int i = 0; i < KEYS; i++)
			if (i % PARTITIONS == p || i % 100 == 0)
				hash[n++] = (int64_t)(mixed((uint64_t)(i / same) + 1) >> 1);
	qsort(hash, n, sizeof(*hash), by_number);
	while (keep && hash[keep - 1] == hash[OFFHOME_KEYS])
		keep--;
	free(hash);
	return keep;
}

/* The same keys are kept in whatever order they come, each with all of its records. */
static void test_order(void **state)
{
	(void)state;
	for (int same = 1; same <= 64; same *= 8) {
		struct offhome up = { 0 }, down = { 0 };

		for (int p = 0; p < PARTITIONS; p++) {
			add_partition(&up, p, same, false);
			add_partition(&down, PARTITIONS - 1 - p, same, true);
		}
		offhome_finish(&up);
		offhome_finish(&down);
		assert_int_equal(up.count, kept_of_sorted(same));
		check_kept(&up, &down);
		offhome_release(&up);
		offhome_release(&down);
	}
}

/* Large keys take no more memory than they may; of those that are kept nothing is missing. */
static void test_large_keys(void **state)
{
	enum { LARGE = 64 << 10, MANY = 4000 };
	uint8_t *bytes = xalloc(LARGE);
	struct offhome offhome = { 0 };
	int64_t largest = 0, below = 0;

	(void)state;
	for (int p = 0; p < 2; p++) {
		offhome_begin(&offhome, p);
		for (int i = 0; i < MANY; i++) {
			struct key key = { (int64_t)(mixed((uint64_t)i + 1) >> 1), bytes, LARGE };
			struct offhome_record record = { .offset = i };

			memcpy(bytes, &i, sizeof(i));
			offhome_add(&offhome, &key, &record);
			assert_true(offhome.key_bytes <= OFFHOME_BYTES + LARGE);
		}
	}
	offhome_finish(&offhome);
	assert_in_range(offhome.count, 100, OFFHOME_BYTES / LARGE + 1);
	for (size_t i = 0; i < offhome.count; i++) {
		int number;

		memcpy(&number, offhome.keys[i].key, sizeof(number));
		assert_int_equal(offhome.keys[i].hash, mixed((uint64_t)number + 1) >> 1);
		assert_int_equal(offhome.keys[i].first_offset, number);
		largest = offhome.keys[i].hash > largest ? offhome.keys[i].hash : largest;
	}
	for (int i = 0; i < MANY; i++)
		below += (int64_t)(mixed((uint64_t)i + 1) >> 1) <= largest;
	assert_int_equal(offhome.count, 2 * below);
	offhome_release(&offhome);
	free(bytes);
}

/* A hundred keys are kept, however long they are. */
static void test_few_large_keys(void **state)
{
	enum { LARGE = 4 << 20, MANY = 20 };
	uint8_t *bytes = xalloc(LARGE);
	struct offhome offhome = { 0 };

	(void)state;
	offhome_begin(&offhome, 0);
	for (int i = 0; i < MANY; i++) {
		memcpy(bytes, &i, sizeof(i));
		offhome_add(&offhome, &(struct key){ i, bytes, LARGE }, &(struct offhome_record){ .offset = i });
	}
	offhome_finish(&offhome);
	assert_int_equal(offhome.count, MANY);
	offhome_release(&offhome);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_large_keys),
		cmocka_unit_test(test_few_large_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The key set against a naive model: every key ever put, filtered by the thresholds. */
#include "ingest/keyset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sql/mem.h"

static uint64_t next_random(uint64_t *seed)
{
	uint64_t z = (*seed += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Key number n: its length and bytes depend on n alone; NUL, newline and high bytes occur. Some share long prefixes. */
static uint32_t make_key(uint64_t n, uint8_t *out, uint32_t longest)
{
	uint64_t seed = n * 7919;
	uint32_t size = (uint32_t)(next_random(&seed) % 29);

	if (n % 97 == 0)
		size = (uint32_t)(next_random(&seed) % longest);
	if (size < sizeof(n))
		size = sizeof(n);
	memset(out, (int)(n % 3), size);
	memcpy(out + size - sizeof(n), &n, sizeof(n));
	return size;
}

struct model {
	bool *ever, *recent;
	uint64_t keys;
	uint32_t longest;
};

static void check_against(const struct model *m, struct keyset *keys)
{
	uint8_t *key = xarray(m->longest + 64, 1);
	int64_t main = 0, recent = 0, both = 0;

	for (uint64_t n = 0; n < m->keys; n++) {
		uint32_t size = make_key(n, key, m->longest);
		int64_t hash = keyset_hash(key, size);
		bool in_main = m->ever[n] && hash < keyset_main_threshold(keys);
		bool in_recent = m->recent[n] && hash < keyset_recent_threshold(keys);
		struct keyset_entry *e = keyset_find(keys, hash, key, size);

		assert_int_equal(e != NULL, in_main || in_recent);
		if (e) {
			assert_int_equal(e->strata, (in_main ? STRATUM_MAIN : 0) | (in_recent ? STRATUM_RECENT : 0));
			assert_memory_equal(e->key, key, size);
		}
		main += in_main;
		recent += in_recent;
		both += in_main || in_recent;
	}
	assert_int_equal(keyset_main_count(keys), main);
	assert_int_equal(keyset_recent_count(keys), recent);
	assert_int_equal(keyset_count(keys), both);
	free(key);
}

static void run_model(uint64_t seed, uint64_t distinct, int64_t limit, size_t memory, bool only_recent)
{
	struct model m = { xarray(distinct, 1), xarray(distinct, 1), distinct, memory > 100000 ? 3000 : 100 };
	struct keyset *keys = keyset_new(limit, memory, only_recent);
	uint8_t *key = xarray(m.longest + 64, 1);

	for (uint64_t i = 0; i < distinct * 3; i++) {
		uint64_t n = next_random(&seed) % distinct;
		bool recent = next_random(&seed) % 8 == 0;
		uint32_t size = make_key(n, key, m.longest);

		m.ever[n] = m.ever[n] || !only_recent;
		m.recent[n] = m.recent[n] || recent;
		keyset_put(keys, keyset_hash(key, size), key, size, recent);
		assert_true(keyset_main_count(keys) <= limit && keyset_recent_count(keys) <= limit);
		assert_true(keyset_bytes(keys) <= memory || keyset_count(keys) == 0);
	}
	check_against(&m, keys);
	keyset_halve(keys);
	check_against(&m, keys);
	keyset_free(keys);
	free(key);
	free(m.ever);
	free(m.recent);
}

static void test_model(void **state)
{
	(void)state;
	run_model(1, 5000, INT64_MAX, 64 << 20, false);  /* everything fits */
	run_model(2, 5000, 1000, 64 << 20, false);       /* the limit halves main */
	run_model(3, 5000, 100, 64 << 20, false);        /* and recent */
	run_model(4, 5000, INT64_MAX, 100 << 10, false); /* memory halves */
	run_model(5, 5000, 2000, 48 << 10, true);
	run_model(6, 20000, 1, 64 << 20, false);
	run_model(7, 3000, 500, 16 << 10, false);
	for (uint64_t seed = 8; seed < 40; seed++)
		run_model(seed, 100 + seed * 10, 1 + (int64_t)seed * 5, (16 << 10) + seed * 1000, seed % 5 == 0);
}

static void test_thresholds_nest(void **state)
{
	struct keyset *small = keyset_new(100, 64 << 20, false), *large = keyset_new(1000, 64 << 20, false);
	struct keyset_entry *e;
	uint8_t key[256];
	size_t at = 0;

	(void)state;
	for (uint64_t n = 0; n < 5000; n++) {
		uint32_t size = make_key(n, key, 100);

		keyset_put(small, keyset_hash(key, size), key, size, false);
		keyset_put(large, keyset_hash(key, size), key, size, false);
	}
	assert_true(keyset_main_threshold(small) < keyset_main_threshold(large));
	for (int k = 0;; k++) {
		assert_true(k < 63);
		if (keyset_main_threshold(small) == INT64_MAX >> k)
			break;
	}
	while ((e = keyset_next(small, &at)))
		assert_non_null(keyset_find(large, e->hash, e->key, e->size));
	assert_true(keyset_estimate(large) > 4000 && keyset_estimate(large) < 6000);
	keyset_free(small);
	keyset_free(large);
}

static void test_odd_keys(void **state)
{
	static const struct {
		const char *bytes;
		uint32_t size;
	} odd[] = {
		{ "", 0 },    { "\0", 1 },  { "\0\0", 2 },     { "a\nb", 3 },
		{ "{x}", 3 }, { "*?[", 3 }, { "\xff\xfe", 2 }, { " ", 1 },
	};
	struct keyset *keys = keyset_new(100, 1 << 20, false);
	uint8_t *big = xarray(65536, 1);
	size_t at = 0, n = 0;

	(void)state;
	assert_null(keyset_find(keys, keyset_hash("x", 1), "x", 1));
	assert_null(keyset_next(keys, &at));
	for (int twice = 0; twice < 2; twice++) {
		for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
			keyset_put(keys, keyset_hash(odd[i].bytes, odd[i].size), odd[i].size ? odd[i].bytes : NULL,
				   odd[i].size, false);
		keyset_put(keys, keyset_hash(big, 65536), big, 65536, true);
	}
	assert_int_equal(keyset_count(keys), 9);
	assert_int_equal(keyset_recent_count(keys), 1);
	assert_int_equal(keyset_estimate(keys), 9);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct keyset_entry *e = keyset_next(keys, &at); /* in the order in which they came */

		assert_int_equal(e->size, odd[i].size);
		assert_memory_equal(e->key, odd[i].bytes, odd[i].size);
		assert_ptr_equal(keyset_find(keys, e->hash, odd[i].bytes, odd[i].size), e);
		n++;
	}
	assert_int_equal(keyset_next(keys, &at)->size, 65536);
	assert_null(keyset_next(keys, &at));
	assert_int_equal(n, 8);
	free(big);
	keyset_free(keys);
}

/* Same hash, other bytes: two keys. (A hash given by hand stands for a collision.) */
static void test_identity_is_hash_and_bytes(void **state)
{
	struct keyset *keys = keyset_new(100, 1 << 20, false);

	(void)state;
	keyset_put(keys, 42, "one", 3, false);
	keyset_put(keys, 42, "two", 3, false);
	keyset_put(keys, 42, "twos", 4, false);
	assert_int_equal(keyset_count(keys), 3);
	assert_memory_equal(keyset_find(keys, 42, "two", 3)->key, "two", 3);
	assert_null(keyset_find(keys, 42, "six", 3));
	assert_null(keyset_find(keys, 43, "one", 3));
	keyset_put(keys, INT64_MAX, "never below T", 13, true);
	assert_int_equal(keyset_count(keys), 3);
	keyset_free(keys);
}

/* What was seen stays seen when others are dropped. */
static void test_seen_survives(void **state)
{
	struct keyset *keys = keyset_new(1000, 1 << 20, false);
	struct keyset_entry *e;
	uint8_t key[256];
	size_t at = 0;

	(void)state;
	for (uint64_t n = 0; n < 900; n++) {
		uint32_t size = make_key(n, key, 100);

		keyset_put(keys, keyset_hash(key, size), key, size, n % 7 == 0);
	}
	while ((e = keyset_next(keys, &at)))
		e->seen = e->hash % 3 == 0;
	keyset_halve(keys);
	keyset_halve(keys);
	for (at = 0; (e = keyset_next(keys, &at));)
		assert_int_equal(e->seen, e->hash % 3 == 0);
	assert_true(keyset_count(keys) > 100 && keyset_count(keys) < 500);
	keyset_free(keys);
}

/* A set without memory to speak of ends empty, and says so by its thresholds. */
static void test_no_memory(void **state)
{
	struct keyset *keys = keyset_new(1000, 100, false);
	uint8_t key[256];

	(void)state;
	for (uint64_t n = 0; n < 100; n++) {
		uint32_t size = make_key(n, key, 100);

		keyset_put(keys, keyset_hash(key, size), key, size, true);
	}
	assert_int_equal(keyset_count(keys), 0);
	assert_true(keyset_main_threshold(keys) < INT64_MAX >> 5);
	keyset_free(keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),         cmocka_unit_test(test_thresholds_nest),
		cmocka_unit_test(test_odd_keys),      cmocka_unit_test(test_identity_is_hash_and_bytes),
		cmocka_unit_test(test_seen_survives), cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

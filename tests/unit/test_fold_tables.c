/*
 * The tables of the fold by themselves: keys that share a hash, more distinct keys than there is room for, more keys
 * off home than are kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/keytable.h"
#include "analyzer/seen.h"
#include "sql/mem.h"
#include "sql/run.h"

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static struct key key_of(int64_t hash, const char *text)
{
	return (struct key){ hash, text, (uint32_t)strlen(text) };
}

/* Identity is hash and bytes. */
static void test_same_hash(void **state)
{
	struct key a = key_of(7, "a"), b = key_of(7, "b"), c = key_of(7, ""), d = key_of(7 + 1024, "a");
	struct keytable table;
	bool same_hash;
	uint32_t entry;

	(void)state;
	keytable_init(&table, false);
	assert_int_equal(keytable_find(&table, &a, &same_hash), NOBODY);
	assert_false(same_hash);
	entry = keytable_add(&table, &a);
	assert_int_equal(keytable_find(&table, &a, &same_hash), entry);
	assert_int_equal(keytable_find(&table, &b, &same_hash), NOBODY);
	assert_true(same_hash);
	/* The same slot, another hash. */
	assert_int_equal(keytable_find(&table, &d, &same_hash), NOBODY);
	assert_false(same_hash);
	assert_int_not_equal(keytable_add(&table, &b), entry);
	assert_int_not_equal(keytable_add(&table, &c), entry);
	assert_int_equal(keytable_entry(&table, keytable_find(&table, &c, NULL))->key_size, 0);
	assert_int_equal(keytable_entry(&table, keytable_find(&table, &b, NULL))->key[0], 'b');
	assert_int_equal(keytable_entry(&table, entry)->fence_offset, UNKNOWN);
	keytable_release(&table);
}

enum { KEYS = 20000 };

static void test_many_keys(void **state)
{
	struct keytable table;
	uint64_t seed = 1;
	char text[16];

	(void)state;
	keytable_init(&table, true);
	for (int i = 0; i < KEYS; i++) {
		struct key key = key_of((int64_t)(next(&seed) >> 1), text);

		snprintf(text, sizeof(text), "%d", i);
		key.size = (uint32_t)strlen(text);
		assert_int_equal(keytable_add(&table, &key), i);
		keytable_add_place(&table, (uint32_t)i, &key, i % 3);
		keytable_add_place(&table, (uint32_t)i, &key, 3);
	}
	seed = 1;
	for (int i = 0; i < KEYS; i++) {
		struct key key = key_of((int64_t)(next(&seed) >> 1), text);
		const struct key_entry *entry;

		snprintf(text, sizeof(text), "%d", i);
		key.size = (uint32_t)strlen(text);
		assert_int_equal(keytable_find(&table, &key, NULL), i);
		entry = keytable_entry(&table, (uint32_t)i);
		assert_int_equal(keytable_place_in(&table, entry, i % 3)->entry, i);
		assert_int_equal(keytable_place_in(&table, entry, 3)->partition, 3);
		assert_null(keytable_place_in(&table, entry, (i + 1) % 3));
	}
	assert_true(keytable_bytes(&table) > KEYS * (sizeof(struct key_entry) + 2 * sizeof(struct key_place)));
	keytable_release(&table);
}

enum { HASHES = 100000 };

/* One pass: how many of the hashes it counts. */
static int64_t pass(struct seen *seen, int64_t from)
{
	uint64_t seed = 5;
	int64_t n = 0;

	seen_begin(seen, from);
	for (int i = 0; i < 3 * HASHES; i++) {
		int64_t hash;
		struct seen_slot *slot;

		if (i % HASHES == 0)
			seed = 5; /* each hash three times */
		hash = (int64_t)(next(&seed) >> 1);
		slot = seen_first(seen, hash);
		while (slot->mark && slot->hash != hash)
			slot = seen_next(seen, slot);
		if (!slot->mark && seen_counts(seen, hash))
			seen_fill(seen, slot, &(struct seen_slot){ hash, NOBODY, 1 });
		assert_false(seen->full);
	}
	for (size_t i = 0; i < seen->slot_count; i++)
		n += seen->slots[i].mark && seen_counts(seen, seen->slots[i].hash);
	return n;
}

/* However little room there is, passes over ranges of hashes count each key once. */
static void test_seen(void **state)
{
	(void)state;
	for (size_t bytes = 1 << 18; bytes <= 1 << 23; bytes *= 8) {
		struct seen seen;
		int64_t n = 0, from = 0;
		int passes = 0;

		seen_init(&seen, bytes);
		for (;;) {
			n += pass(&seen, from);
			passes++;
			assert_true(seen.slot_count * sizeof(struct seen_slot) <= bytes);
			if (seen.bound == SEEN_ALL)
				break;
			from = seen.bound;
		}
		assert_int_equal(n, HASHES);
		assert_true(bytes > 1 << 22 ? passes == 1 : passes > 1);
		seen_release(&seen);
	}
}

/* What is sampled stays, whatever the bound; more of it than fits is said. */
static void test_seen_is_full(void **state)
{
	struct seen seen;
	uint64_t seed = 9;
	int n = 0;

	(void)state;
	seen_init(&seen, 1);
	for (; !seen.full && n < 10000; n++) {
		int64_t hash = (int64_t)(next(&seed) >> 1);
		struct seen_slot *slot = seen_first(&seen, hash);

		while (slot->mark)
			slot = seen_next(&seen, slot);
		seen_fill(&seen, slot, &(struct seen_slot){ hash, (uint32_t)n, 1 });
	}
	assert_true(seen.full);
	assert_int_equal(seen.used, n);
	seen_release(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_hash), cmocka_unit_test(test_many_keys),    cmocka_unit_test(test_seen),
		cmocka_unit_test(test_seen_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* hot: counters in a small open-addressing table. */
#include "analyzer/hot.h"

#include <stdlib.h>
#include <string.h>

#include "sql/mem.h"

enum { SLOTS = HOT_KEYS * 4 };

static void free_keys(struct hot *hot)
{
	for (size_t i = 0; i < hot->count; i++)
		free(hot->keys[i].key);
	hot->count = 0;
}

void hot_begin(struct hot *hot)
{
	free_keys(hot);
	memset(hot->slots, 0, sizeof(hot->slots));
	hot->seen = 0;
}

void hot_release(struct hot *hot)
{
	free_keys(hot);
}

static uint8_t *find(struct hot *hot, int64_t hash)
{
	size_t slot = (size_t)hash & (SLOTS - 1);

	while (hot->slots[slot] && hot->keys[hot->slots[slot] - 1].hash != hash)
		slot = (slot + 1) & (SLOTS - 1);
	return &hot->slots[slot];
}

static void index_all(struct hot *hot)
{
	memset(hot->slots, 0, sizeof(hot->slots));
	for (size_t i = 0; i < hot->count; i++)
		*find(hot, hot->keys[i].hash) = (uint8_t)(i + 1);
}

/* Takes one from all counters; those that come to nothing are free. */
static void take_one_of_each(struct hot *hot)
{
	size_t kept = 0;

	for (size_t i = 0; i < hot->count; i++)
		if (--hot->keys[i].records > 0)
			hot->keys[kept++] = hot->keys[i];
	hot->count = kept;
	index_all(hot);
}

void hot_add(struct hot *hot, int64_t hash)
{
	uint8_t *slot = find(hot, hash);

	hot->seen++;
	if (*slot) {
		hot->keys[*slot - 1].records++;
	} else if (hot->count < HOT_KEYS) {
		hot->keys[hot->count] = (struct hot_key){ .hash = hash, .records = 1 };
		*slot = (uint8_t)++hot->count;
	} else {
		take_one_of_each(hot);
	}
}

static int by_hash(const void *a, const void *b)
{
	const struct hot_key *x = a, *y = b;

	return (x->hash > y->hash) - (x->hash < y->hash);
}

/*
 * A counter is too low by at most seen / (HOT_KEYS + 1), and one record in eight is a sample: half the share that is
 * asked for leaves room for both.
 */
size_t hot_candidates(struct hot *hot, double share)
{
	double missed = (double)hot->seen / (HOT_KEYS + 1);
	size_t kept = 0;

	for (size_t i = 0; i < hot->count; i++)
		if ((double)hot->keys[i].records + missed >= share / 2 * (double)hot->seen)
			hot->keys[kept++] = (struct hot_key){ .hash = hot->keys[i].hash };
	hot->count = kept;
	qsort(hot->keys, kept, sizeof(*hot->keys), by_hash);
	index_all(hot);
	return kept;
}

void hot_exact(struct hot *hot, int64_t hash, const void *key, uint32_t size)
{
	const uint8_t *slot = find(hot, hash);
	struct hot_key *have = *slot ? &hot->keys[*slot - 1] : NULL;

	if (!have)
		return;
	if (!have->key) {
		have->key = xmemdup(key, size);
		have->key_size = size;
	}
	if (have->key_size == size && memcmp(have->key, key, size) == 0)
		have->records++;
}

/* offhome: a table of twice the keys that are kept; when it is full, the upper half by hash goes. */
#include "analyzer/offhome.h"

#include <stdlib.h>
#include <string.h>

#include "sql/mem.h"

enum { ROOM = 2 * OFFHOME_KEYS, SLOTS = 1 << 19 };

static int by_hash(const void *a, const void *b)
{
	const struct offhome_key *x = a, *y = b;
	int order = key_compare(x->hash, x->key, x->key_size, y->hash, y->key, y->key_size);

	return order ? order : (x->partition > y->partition) - (x->partition < y->partition);
}

static int by_place(const void *a, const void *b)
{
	const struct offhome_key *x = a, *y = b;

	if (x->partition != y->partition)
		return x->partition < y->partition ? -1 : 1;
	return by_hash(a, b);
}

static size_t slot_of(int64_t hash, int32_t partition)
{
	return ((size_t)hash ^ (size_t)partition * 0x9e3779b1u) & (SLOTS - 1);
}

static void put(struct offhome *offhome, size_t index)
{
	const struct offhome_key *key = &offhome->keys[index];
	size_t slot = slot_of(key->hash, key->partition);

	while (offhome->slots[slot])
		slot = (slot + 1) & (SLOTS - 1);
	offhome->slots[slot] = (uint32_t)index + 1;
}

/*
 * Keeps the smallest OFFHOME_KEYS, whole hashes only, so that a key that was let go is never counted anew from its
 * middle.
 */
static void prune(struct offhome *offhome)
{
	size_t keep = OFFHOME_KEYS;

	qsort(offhome->keys, offhome->count, sizeof(*offhome->keys), by_hash);
	offhome->bound = offhome->keys[keep].hash;
	while (keep && offhome->keys[keep - 1].hash == offhome->bound)
		keep--;
	for (size_t i = keep; i < offhome->count; i++)
		free(offhome->keys[i].key);
	offhome->count = keep;
	memset(offhome->slots, 0, SLOTS * sizeof(*offhome->slots));
	for (size_t i = 0; i < keep; i++)
		put(offhome, i);
}

static struct offhome_key *find(const struct offhome *offhome, const struct key *key, int32_t partition)
{
	for (size_t slot = slot_of(key->hash, partition); offhome->slots[slot]; slot = (slot + 1) & (SLOTS - 1)) {
		struct offhome_key *have = &offhome->keys[offhome->slots[slot] - 1];

		if (have->hash == key->hash && have->partition == partition && have->key_size == key->size &&
		    memcmp(have->key, key->bytes, key->size) == 0)
			return have;
	}
	return NULL;
}

static struct offhome_key *add(struct offhome *offhome, const struct key *key, const struct offhome_record *record)
{
	struct offhome_key *new;

	if (offhome->count == ROOM)
		prune(offhome);
	if (key->hash >= offhome->bound)
		return NULL;
	new = &offhome->keys[offhome->count];
	*new = (struct offhome_key){ .hash = key->hash, .key = xmemdup(key->bytes, key->size), .key_size = key->size,
				     .partition = record->partition, .home = record->home,
				     .stale = record->stale,
				     .first_offset = record->offset, .first_ms = record->timestamp_ms };
	put(offhome, offhome->count++);
	return new;
}

static void begin(struct offhome *offhome)
{
	offhome->slots = xarray(SLOTS, sizeof(*offhome->slots));
	offhome->bound = INT64_MAX;
	offhome->room = xarray(ROOM + 1, sizeof(*offhome->keys));
	offhome->keys = (void *)(((uintptr_t)offhome->room + 63) & ~(uintptr_t)63);
}

/* The key at that place, if it is the one; keys move when the table is pruned. */
static struct offhome_key *look_at(const struct offhome *offhome, const struct key *key, int32_t partition, uint32_t at)
{
	struct offhome_key *have = at && at <= offhome->count ? &offhome->keys[at - 1] : NULL;

	return have && have->hash == key->hash && have->partition == partition ? have : NULL;
}

uint32_t offhome_add(struct offhome *offhome, const struct key *key, const struct offhome_record *record, uint32_t at)
{
	struct offhome_key *have;

	if (!offhome->slots) {
		begin(offhome);
	}
	if (key->hash >= offhome->bound)
		return 0;
	have = look_at(offhome, key, record->partition, at);
	if (!have)
		have = find(offhome, key, record->partition);
	if (!have)
		have = add(offhome, key, record);
	if (!have)
		return 0;
	have->records++;
	have->last_offset = record->offset;
	have->last_ms = record->timestamp_ms;
	return (uint32_t)(have - offhome->keys) + 1;
}

void offhome_finish(struct offhome *offhome)
{
	if (offhome->count > OFFHOME_KEYS)
		prune(offhome);
	if (offhome->count)
		qsort(offhome->keys, offhome->count, sizeof(*offhome->keys), by_place);
}

void offhome_release(struct offhome *offhome)
{
	for (size_t i = 0; i < offhome->count; i++)
		free(offhome->keys[i].key);
	free(offhome->room);
	free(offhome->slots);
	*offhome = (struct offhome){ 0 };
}

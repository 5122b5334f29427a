/* offhome: a list of half as many keys again as are kept; when it is full, the upper third by hash goes. */
#include "analyzer/offhome.h"

#include <stdlib.h>
#include <string.h>

#include "sql/mem.h"

enum { ROOM = OFFHOME_KEYS + OFFHOME_KEYS / 2, SLOTS_FIRST = 4096, KEYS_LEAST = 100 };

static int by_place(const void *a, const void *b)
{
	const struct offhome_key *x = a, *y = b;

	if (x->partition != y->partition)
		return x->partition < y->partition ? -1 : 1;
	return key_compare(x->hash, x->key, x->key_size, y->hash, y->key, y->key_size);
}

static uint32_t tag_of(int64_t hash)
{
	return (uint32_t)((uint64_t)hash >> 24);
}

static void put(struct offhome *offhome, size_t index)
{
	size_t slot = (size_t)offhome->keys[index].hash & (offhome->slot_count - 1);

	while (offhome->slots[slot].at)
		slot = (slot + 1) & (offhome->slot_count - 1);
	offhome->slots[slot] = (struct offhome_slot){ tag_of(offhome->keys[index].hash), (uint32_t)index + 1 };
	offhome->used++;
}

/* Empty slots, so many, and then those of the partition at hand, whose keys are the last of the list. */
static void rebuild(struct offhome *offhome, size_t slot_count)
{
	if (slot_count != offhome->slot_count) {
		free(offhome->slots);
		offhome->slots = xarray(slot_count, sizeof(*offhome->slots));
		offhome->slot_count = slot_count;
	} else {
		memset(offhome->slots, 0, slot_count * sizeof(*offhome->slots));
	}
	offhome->used = 0;
	for (size_t i = offhome->count; i > 0 && offhome->keys[i - 1].partition == offhome->partition; i--)
		put(offhome, i - 1);
}

/* Moves the hashes that are at most `most` to the front. Returns how many they are. */
static size_t part_at(int64_t *hash, size_t n, int64_t most)
{
	size_t front = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t here = hash[i];

		hash[i] = hash[front];
		hash[front] = here;
		front += here <= most;
	}
	return front;
}

/* The smallest hash that more than `below` of the keys have at most. */
static int64_t hash_at(const struct offhome *offhome, size_t below)
{
	int64_t *all = xarray(offhome->count, sizeof(*all)), *hash = all;
	int64_t low = 0, high = offhome->bound;
	size_t n = offhome->count;

	for (size_t i = 0; i < n; i++)
		hash[i] = offhome->keys[i].hash;
	while (low < high) {
		int64_t middle = low + (high - low) / 2;
		size_t front = part_at(hash, n, middle);

		if (front > below) {
			n = front;
			high = middle;
		} else {
			hash += front;
			n -= front;
			below -= front;
			low = middle + 1;
		}
	}
	free(all);
	return low;
}

/* Moves the keys below the bound together, and their bytes into an arena of their own. */
static void drop_above(struct offhome *offhome)
{
	struct arena arena = { 0 };
	size_t kept = 0;

	offhome->key_bytes = 0;
	for (size_t i = 0; i < offhome->count; i++) {
		struct offhome_key *key = &offhome->keys[i];

		if (key->hash >= offhome->bound)
			continue;
		key->key = arena_add(&arena, key->key, key->key_size);
		offhome->key_bytes += key->key_size;
		offhome->keys[kept++] = *key;
	}
	arena_release(&offhome->arena);
	offhome->arena = arena;
	offhome->count = kept;
}

/*
 * Keeps the smallest `keep` keys, whole hashes only, so that a key that was let go is never counted anew from its
 * middle.
 */
static void prune(struct offhome *offhome, size_t keep)
{
	offhome->bound = hash_at(offhome, keep);
	drop_above(offhome);
	rebuild(offhome, offhome->slot_count);
}

static struct offhome_key *find(const struct offhome *offhome, const struct key *key)
{
	uint32_t tag = tag_of(key->hash);
	const struct offhome_slot *slot = offhome_slot(offhome, key->hash);

	for (; slot->at; slot = &offhome->slots[(size_t)(slot - offhome->slots + 1) & (offhome->slot_count - 1)]) {
		struct offhome_key *have = &offhome->keys[slot->at - 1];

		if (slot->tag == tag && have->hash == key->hash && have->key_size == key->size &&
		    memcmp(have->key, key->bytes, key->size) == 0)
			return have;
	}
	return NULL;
}

static void make_room(struct offhome *offhome)
{
	if (offhome->count == ROOM)
		prune(offhome, OFFHOME_KEYS);
	while (offhome->key_bytes > OFFHOME_BYTES && offhome->count > KEYS_LEAST)
		prune(offhome, offhome->count / 2);
	if (offhome->used * 2 >= offhome->slot_count)
		rebuild(offhome, offhome->slot_count * 2);
}

/* NULL where the key is not kept after all. */
static struct offhome_key *add(struct offhome *offhome, const struct key *key, const struct offhome_record *record)
{
	struct offhome_key *new;

	make_room(offhome);
	if (!offhome_takes(offhome, key->hash))
		return NULL;
	new = &offhome->keys[offhome->count];
	*new = (struct offhome_key){ .hash = key->hash, .key = arena_add(&offhome->arena, key->bytes, key->size),
				     .key_size = key->size, .partition = offhome->partition, .home = record->home,
				     .stale = record->stale, .first_offset = record->offset,
				     .first_ms = record->timestamp_ms };
	offhome->key_bytes += key->size;
	put(offhome, offhome->count++);
	return new;
}

void offhome_begin(struct offhome *offhome, int32_t partition)
{
	size_t slot_count = offhome->slot_count;

	if (!offhome->keys) {
		offhome->bound = INT64_MAX;
		offhome->room = xarray(ROOM + 1, sizeof(*offhome->keys));
		offhome->keys = (void *)(((uintptr_t)offhome->room + 63) & ~(uintptr_t)63);
		slot_count = SLOTS_FIRST;
	}
	/* One large partition must not make a thousand small ones slow. */
	if (offhome->used * 16 < slot_count)
		slot_count = SLOTS_FIRST;
	offhome->partition = partition;
	rebuild(offhome, slot_count);
}

void offhome_add(struct offhome *offhome, const struct key *key, const struct offhome_record *record)
{
	struct offhome_key *have;

	if (!offhome_takes(offhome, key->hash))
		return;
	have = find(offhome, key);
	if (!have)
		have = add(offhome, key, record);
	if (!have)
		return;
	have->records++;
	have->last_offset = record->offset;
	have->last_ms = record->timestamp_ms;
}

void offhome_finish(struct offhome *offhome)
{
	if (offhome->count > OFFHOME_KEYS)
		prune(offhome, OFFHOME_KEYS);
	if (offhome->count)
		qsort(offhome->keys, offhome->count, sizeof(*offhome->keys), by_place);
}

void offhome_release(struct offhome *offhome)
{
	free(offhome->room);
	free(offhome->slots);
	arena_release(&offhome->arena);
	*offhome = (struct offhome){ 0 };
}

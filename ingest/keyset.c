/*
 * keyset: entries lie side by side in the order in which they came; a table of their numbers (open addressing, linear
 * probing by the low bits of the hash, which thresholds leave alone) finds them. Key bytes lie in blocks, in the order
 * of the entries: dropping entries is one walk that moves what stays to the front and frees every block it has left
 * behind.
 */
#define XXH_INLINE_ALL
#include "ingest/keyset.h"

#include <stdlib.h>
#include <string.h>

#include "sql/faultpoint.h"
#include "sql/keyhash.h"
#include "sql/mem.h"

enum { ENTRIES_LEAST = 64, BLOCK_LEAST = 4 << 10, BLOCK_MOST = 1 << 20 };

struct block {
	struct block *next;
	size_t used, room;
	uint8_t data[];
};

struct arena {
	struct block *first, *last;
	size_t bytes; /* of all blocks */
	size_t block_room;
};

struct stratum {
	int64_t threshold, count;
	int halvings;
};

struct keyset {
	int64_t limit;
	size_t memory;
	struct stratum main, recent;
	struct key_prefixes prefixes;
	enum keypart part;
	struct keyset_entry *entries;
	size_t count, room;
	uint32_t *slots;   /* number of an entry + 1; 0: free */
	size_t slot_count; /* a power of two */
	struct arena arena;
};

/* --- key bytes ---------------------------------------------------------------------------------------------------- */

/* What the arena's blocks would take after a key of size. */
static size_t arena_bytes_with(const struct arena *a, size_t size)
{
	size_t room = size > a->block_room ? size : a->block_room;

	if (a->last && a->last->room - a->last->used >= size)
		return a->bytes;
	return a->bytes + sizeof(struct block) + room;
}

static const void *arena_add(struct arena *a, const void *bytes, size_t size)
{
	void *at;

	if (!a->last || a->last->room - a->last->used < size) {
		size_t room = size > a->block_room ? size : a->block_room;
		struct block *b = xgrow(NULL, sizeof(*b) + room, 1);

		*b = (struct block){ .room = room };
		*(a->last ? &a->last->next : &a->first) = b;
		a->last = b;
		a->bytes += sizeof(*b) + room;
	}
	at = a->last->data + a->last->used;
	if (size)
		memcpy(at, bytes, size);
	a->last->used += size;
	return at;
}

static void arena_drop_first(struct arena *a)
{
	struct block *b = a->first;

	a->first = b->next;
	a->bytes -= sizeof(*b) + b->room;
	free(b);
}

static bool block_holds(const struct block *b, const void *at)
{
	return (const uint8_t *)at >= b->data && (const uint8_t *)at <= b->data + b->room;
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

struct keyset *keyset_new(int64_t limit, size_t memory, bool only_recent)
{
	struct keyset *keys = xalloc(sizeof(*keys));
	size_t block_room = memory / 64;

	keys->limit = limit;
	keys->memory = memory;
	keys->main.threshold = only_recent ? 0 : INT64_MAX;
	keys->recent.threshold = INT64_MAX;
	keys->arena.block_room = block_room < BLOCK_LEAST  ? BLOCK_LEAST
				 : block_room > BLOCK_MOST ? BLOCK_MOST
							   : block_room;
	return keys;
}

void keyset_free(struct keyset *keys)
{
	if (!keys)
		return;
	while (keys->arena.first)
		arena_drop_first(&keys->arena);
	free(keys->entries);
	free(keys->slots);
	free(keys);
}

static size_t slots_for(size_t room)
{
	size_t n = ENTRIES_LEAST;

	while (n - n / 4 < room)
		n *= 2;
	return n;
}

static void index_all(struct keyset *keys)
{
	size_t mask = keys->slot_count - 1;

	for (size_t i = 0; i < keys->count; i++) {
		size_t at = (size_t)keys->entries[i].hash & mask;

		while (keys->slots[at])
			at = (at + 1) & mask;
		keys->slots[at] = (uint32_t)i + 1;
	}
}

/* Gives the entries room and a table that suits it. */
static void resize(struct keyset *keys, size_t room)
{
	keys->entries = xgrow(keys->entries, room, sizeof(*keys->entries));
	keys->room = room;
	free(keys->slots);
	keys->slot_count = slots_for(room);
	keys->slots = xarray(keys->slot_count, sizeof(*keys->slots));
	index_all(keys);
}

struct keyset_entry *keyset_find(struct keyset *keys, int64_t hash, const void *key, size_t size)
{
	size_t mask = keys->slot_count - 1;

	if (!keys->count)
		return NULL;
	for (size_t at = (size_t)hash & mask; keys->slots[at]; at = (at + 1) & mask) {
		struct keyset_entry *e = &keys->entries[keys->slots[at] - 1];

		if (e->hash == hash && e->size == size && (size == 0 || memcmp(e->key, key, size) == 0))
			return e;
	}
	return NULL;
}

void keyset_prefetch(const struct keyset *keys, int64_t hash)
{
	if (keys->slot_count)
		__builtin_prefetch(&keys->slots[(size_t)hash & (keys->slot_count - 1)]);
}

static size_t next_room(const struct keyset *keys)
{
	return keys->room < ENTRIES_LEAST ? ENTRIES_LEAST : keys->room + keys->room / 4;
}

static size_t table_bytes(size_t room)
{
	return room ? room * sizeof(struct keyset_entry) + slots_for(room) * sizeof(uint32_t) : 0;
}

/* What the set would take with one more key. */
static size_t bytes_with(const struct keyset *keys, size_t size)
{
	size_t room = keys->count < keys->room ? keys->room : next_room(keys);

	return sizeof(*keys) + table_bytes(room) + arena_bytes_with(&keys->arena, size);
}

size_t keyset_bytes(const struct keyset *keys)
{
	return sizeof(*keys) + table_bytes(keys->room) + keys->arena.bytes;
}

/* --- thresholds --------------------------------------------------------------------------------------------------- */

/* Takes an entry out of the strata that its hash is no longer in. True where it stays. */
static bool settle(struct keyset *keys, struct keyset_entry *e)
{
	if ((e->strata & STRATUM_MAIN) && e->hash >= keys->main.threshold) {
		e->strata &= (uint8_t)~STRATUM_MAIN;
		keys->main.count--;
	}
	if ((e->strata & STRATUM_RECENT) && e->hash >= keys->recent.threshold) {
		e->strata &= (uint8_t)~STRATUM_RECENT;
		keys->recent.count--;
	}
	return e->strata != 0;
}

/* Drops what the thresholds leave outside, and gives its memory back. */
static void sweep(struct keyset *keys)
{
	struct arena fresh = { .block_room = keys->arena.block_room };
	size_t kept = 0;

	for (size_t i = 0; i < keys->count; i++) {
		struct keyset_entry e = keys->entries[i];

		while (!block_holds(keys->arena.first, e.key))
			arena_drop_first(&keys->arena);
		if (!settle(keys, &e))
			continue;
		e.key = arena_add(&fresh, e.key, e.size);
		keys->entries[kept++] = e;
	}
	while (keys->arena.first)
		arena_drop_first(&keys->arena);
	keys->arena = fresh;
	keys->count = kept;
	resize(keys, kept + kept / 4 + ENTRIES_LEAST);
}

static void halve(struct keyset *keys, struct stratum *s)
{
	s->threshold >>= 1;
	s->halvings++;
	sweep(keys);
}

void keyset_halve(struct keyset *keys)
{
	halve(keys, &keys->main);
}

/* Which stratum gives way where memory is short: the one with more keys. NULL: neither has any left to give. */
static struct stratum *larger(struct keyset *keys)
{
	if (!keys->main.threshold && !keys->recent.threshold)
		return NULL;
	if (!keys->main.threshold || (keys->recent.threshold && keys->recent.count > keys->main.count))
		return &keys->recent;
	return &keys->main;
}

static uint8_t strata_of(const struct keyset *keys, int64_t hash, bool recent)
{
	return (uint8_t)((hash < keys->main.threshold ? STRATUM_MAIN : 0) |
			 (recent && hash < keys->recent.threshold ? STRATUM_RECENT : 0));
}

static void append(struct keyset *keys, int64_t hash, const void *key, uint32_t size)
{
	size_t at;

	if (keys->count == keys->room)
		resize(keys, next_room(keys));
	at = (size_t)hash & (keys->slot_count - 1);
	while (keys->slots[at])
		at = (at + 1) & (keys->slot_count - 1);
	keys->entries[keys->count] = (struct keyset_entry){
		.hash = hash,
		.key = arena_add(&keys->arena, key, size),
		.size = size,
	};
	keys->slots[at] = (uint32_t)++keys->count;
}

static void join(struct keyset *keys, struct keyset_entry *e, uint8_t strata)
{
	uint8_t more = strata & (uint8_t)~e->strata;

	keys->main.count += (more & STRATUM_MAIN) != 0;
	keys->recent.count += (more & STRATUM_RECENT) != 0;
	e->strata |= more;
}

void keyset_put(struct keyset *keys, int64_t hash, const void *key, uint32_t size, bool recent)
{
	struct keyset_entry *e = keyset_find(keys, hash, key, size);
	struct stratum *s;

	if (!e) {
		while (strata_of(keys, hash, recent) &&
		       (FAULT(KEYSET_FULL) || bytes_with(keys, size) > keys->memory || keys->count >= UINT32_MAX - 1) &&
		       (s = larger(keys)))
			halve(keys, s);
		if (!strata_of(keys, hash, recent))
			return;
		append(keys, hash, key, size);
		e = &keys->entries[keys->count - 1];
	}
	join(keys, e, strata_of(keys, hash, recent));
	while (keys->main.count > keys->limit)
		halve(keys, &keys->main);
	while (keys->recent.count > keys->limit)
		halve(keys, &keys->recent);
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

void keyset_cut(struct keyset *keys, enum keypart part)
{
	keys->part = part;
}

enum keypart keyset_part(const struct keyset *keys)
{
	return keys->part;
}

void keyset_note_prefixes(struct keyset *keys, enum key_format format)
{
	keys->prefixes = (struct key_prefixes){ .format = format };
}

struct key_prefixes *keyset_prefixes(struct keyset *keys)
{
	return &keys->prefixes;
}

int64_t keyset_hash(const void *key, size_t size)
{
	return key_hash(key, size);
}

int64_t keyset_limit(const struct keyset *keys)
{
	return keys->limit;
}

int64_t keyset_main_threshold(const struct keyset *keys)
{
	return keys->main.threshold;
}

int64_t keyset_recent_threshold(const struct keyset *keys)
{
	return keys->recent.threshold;
}

int64_t keyset_main_count(const struct keyset *keys)
{
	return keys->main.count;
}

int64_t keyset_recent_count(const struct keyset *keys)
{
	return keys->recent.count;
}

int64_t keyset_count(const struct keyset *keys)
{
	return (int64_t)keys->count;
}

int64_t keyset_estimate(const struct keyset *keys)
{
	if (!keys->main.threshold)
		return UNKNOWN;
	if (keys->main.count > INT64_MAX >> keys->main.halvings)
		return INT64_MAX;
	return keys->main.count << keys->main.halvings;
}

struct keyset_entry *keyset_next(struct keyset *keys, size_t *at)
{
	return *at < keys->count ? &keys->entries[(*at)++] : NULL;
}

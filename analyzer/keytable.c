/* keytable: open addressing over the entries, by hash. */
#include "analyzer/keytable.h"

#include <stdlib.h>

#include "sql/keyhash.h"
#include "sql/mem.h"
#include "sql/run.h"

enum { SLOTS_FIRST = 1024 };

void keytable_init(struct keytable *table, bool with_values)
{
	*table = (struct keytable){
		.entries.item = sizeof(struct key_entry),
		.places.item = sizeof(struct key_place),
		.values.item = with_values ? sizeof(struct key_value) : 0,
		.slot_count = SLOTS_FIRST,
	};
	table->slots = xarray(SLOTS_FIRST, sizeof(*table->slots));
}

void keytable_release(struct keytable *table)
{
	pool_release(&table->entries);
	pool_release(&table->places);
	pool_release(&table->values);
	arena_release(&table->arena);
	free(table->slots);
	table->slots = NULL;
}

size_t keytable_bytes(const struct keytable *table)
{
	return pool_bytes(&table->entries) + pool_bytes(&table->places) + pool_bytes(&table->values) +
	       table->arena.bytes + table->slot_count * sizeof(*table->slots);
}

static size_t first_slot(const struct keytable *table, int64_t hash)
{
	return (size_t)(keytable_slot(table, hash) - table->slots);
}

static size_t next_slot(const struct keytable *table, size_t slot)
{
	return (slot + 1) & (table->slot_count - 1);
}

uint32_t keytable_find(const struct keytable *table, const struct key *key, bool *same_hash)
{
	if (same_hash)
		*same_hash = false;
	for (size_t slot = first_slot(table, key->hash); table->slots[slot]; slot = next_slot(table, slot)) {
		uint32_t index = table->slots[slot] - 1;
		const struct key_entry *entry = keytable_entry(table, index);

		if (entry->hash != key->hash)
			continue;
		if (entry->key_size == key->size && memcmp(entry->key, key->bytes, key->size) == 0)
			return index;
		if (same_hash)
			*same_hash = true;
	}
	return NOBODY;
}

static void put(struct keytable *table, int64_t hash, uint32_t index)
{
	size_t slot = first_slot(table, hash);

	while (table->slots[slot])
		slot = next_slot(table, slot);
	table->slots[slot] = index + 1;
}

static void grow(struct keytable *table)
{
	free(table->slots);
	table->slot_count *= 2;
	table->slots = xarray(table->slot_count, sizeof(*table->slots));
	for (size_t i = 0; i < table->entries.count; i++)
		put(table, keytable_entry(table, (uint32_t)i)->hash, (uint32_t)i);
}

uint32_t keytable_add(struct keytable *table, const struct key *key)
{
	uint32_t index = (uint32_t)table->entries.count;
	struct key_entry *entry = pool_add(&table->entries);

	entry->hash = key->hash;
	entry->key = arena_add(&table->arena, key->bytes, key->size);
	entry->key_size = key->size;
	entry->places = NOBODY;
	entry->fence_id = entry->fence_offset = entry->fence_ms = UNKNOWN;
	entry->fence_partition = -1;
	if (table->values.item)
		pool_add(&table->values);
	if (table->entries.count * 2 > table->slot_count)
		grow(table);
	else
		put(table, key->hash, index);
	return index;
}

/* Makes the last place one of the entry's, or one of nobody's with that key. */
static void hang(struct keytable *table, struct key_place *place, uint32_t entry_index, const void *key)
{
	struct key_entry *entry = entry_index == NOBODY ? NULL : keytable_entry(table, entry_index);

	place->entry = entry_index;
	place->key = entry ? entry->key : arena_add(&table->arena, key, place->key_size);
	place->next = NOBODY;
	if (!entry)
		return;
	place->next = entry->places;
	entry->places = (uint32_t)table->places.count - 1;
}

uint32_t keytable_add_place(struct keytable *table, uint32_t entry_index, const struct key *key, int32_t partition)
{
	struct key_place *place = pool_add(&table->places);

	place->key_size = key->size;
	place->partition = partition;
	place->fence_offset = place->binding_offset = place->tombstone_or_unsure = place->tombstone_any = -1;
	hang(table, place, entry_index, key->bytes);
	if (entry_index != NOBODY && keytable_entry(table, entry_index)->fence_partition == partition)
		place->fence_offset = keytable_entry(table, entry_index)->fence_offset;
	return (uint32_t)table->places.count - 1;
}

/* A copy of the entry without its places. */
static uint32_t copy_entry(struct keytable *to, const struct keytable *from, uint32_t index)
{
	const struct key_entry *old = keytable_entry(from, index);
	uint32_t copy = keytable_add(to, &(struct key){ old->hash, old->key, old->key_size });
	struct key_entry *new = keytable_entry(to, copy);
	const uint8_t *key = new->key;

	*new = *old;
	new->key = key;
	new->places = NOBODY;
	if (to->values.item)
		*keytable_value(to, copy) = *keytable_value(from, index);
	return copy;
}

static uint32_t copy_place(struct keytable *to, const struct key_place *old, uint32_t entry_index)
{
	struct key_place *new = pool_add(&to->places);

	*new = *old;
	hang(to, new, entry_index, old->key);
	return (uint32_t)to->places.count - 1;
}

void keytable_keep_below(struct keytable *table, int64_t threshold, uint32_t *map)
{
	uint32_t *entries = xarray(table->entries.count, sizeof(*entries));
	struct keytable kept;

	keytable_init(&kept, table->values.item > 0);
	for (size_t i = 0; i < table->entries.count; i++)
		entries[i] = keytable_entry(table, (uint32_t)i)->hash < threshold
				     ? copy_entry(&kept, table, (uint32_t)i)
				     : NOBODY;
	for (size_t i = 0; i < table->places.count; i++) {
		const struct key_place *place = keytable_place(table, (uint32_t)i);
		bool stays = place->entry == NOBODY ? key_hash(place->key, place->key_size) < threshold
						    : entries[place->entry] != NOBODY;

		map[i] = stays ? copy_place(&kept, place, place->entry == NOBODY ? NOBODY : entries[place->entry])
			       : NOBODY;
	}
	free(entries);
	keytable_release(table);
	*table = kept;
}

struct key_place *keytable_place_in(const struct keytable *table, const struct key_entry *entry, int32_t partition)
{
	for (uint32_t i = entry->places; i != NOBODY;) {
		struct key_place *place = keytable_place(table, i);

		if (place->partition == partition)
			return place;
		i = place->next;
	}
	return NULL;
}

int key_compare(int64_t a_hash, const void *a, size_t a_size, int64_t b_hash, const void *b, size_t b_size)
{
	size_t both = a_size < b_size ? a_size : b_size;
	int bytes;

	if (a_hash != b_hash)
		return a_hash < b_hash ? -1 : 1;
	bytes = both ? memcmp(a, b, both) : 0;
	return bytes ? bytes : (a_size > b_size) - (a_size < b_size);
}

/* keytable: open addressing over the entries, by hash. */
#include "analyzer/keytable.h"

#include <stdlib.h>

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

uint32_t keytable_add_place(struct keytable *table, uint32_t entry_index, const struct key *key, int32_t partition)
{
	uint32_t index = (uint32_t)table->places.count;
	struct key_place *place = pool_add(&table->places);

	place->entry = entry_index;
	place->key_size = key->size;
	place->partition = partition;
	place->next = NOBODY;
	place->fence_offset = place->binding_offset = place->tombstone_or_unsure = place->tombstone_any = -1;
	if (entry_index == NOBODY) {
		place->key = arena_add(&table->arena, key->bytes, key->size);
	} else {
		struct key_entry *entry = keytable_entry(table, entry_index);

		place->key = entry->key;
		place->next = entry->places;
		entry->places = index;
		if (entry->fence_partition == partition)
			place->fence_offset = entry->fence_offset;
	}
	return index;
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

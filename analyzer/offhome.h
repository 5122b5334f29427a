/*
 * offhome: keys with records in a partition that is not legal for them, those with the smallest hashes. Which ones are
 * kept does not depend on the order in which they come.
 */
#ifndef ANALYZER_OFFHOME_H
#define ANALYZER_OFFHOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/keytable.h"

enum { OFFHOME_KEYS = 100000 };

struct offhome_key {
	int64_t hash;
	uint8_t *key;            /* owned */
	uint32_t key_size;
	int32_t partition, home;
	bool stale;              /* at home under an earlier count, from a producer that should have known better */
	int64_t records, first_offset, last_offset, first_ms, last_ms;
};

/* Zero it; release it. */
struct offhome {
	struct offhome_key *keys;
	size_t count, room;
	uint32_t *slots;         /* index + 1; 0: free */
	int64_t bound;           /* hashes at or above are not kept; 0 before the first key */
};

enum { OFFHOME_SLOTS = 1 << 19 };

static inline size_t offhome_slot(int64_t hash, int32_t partition)
{
	return ((size_t)hash ^ (size_t)partition * 0x9e3779b1u) & (OFFHOME_SLOTS - 1);
}

/*
 * Asks for the memory that offhome_add will touch for a key, if it is one that is kept: first its slot, some records
 * later what the slot names, then the bytes of the key.
 */
static inline void offhome_prefetch_slot(const struct offhome *offhome, int64_t hash, int32_t partition)
{
	if (hash < offhome->bound)
		__builtin_prefetch(&offhome->slots[offhome_slot(hash, partition)]);
}

static inline const struct offhome_key *offhome_likely(const struct offhome *offhome, int64_t hash, int32_t partition)
{
	uint32_t index = hash < offhome->bound ? offhome->slots[offhome_slot(hash, partition)] : 0;

	return index ? &offhome->keys[index - 1] : NULL;
}

struct offhome_record {
	int32_t partition, home;
	bool stale;
	int64_t offset, timestamp_ms;
};

/* Counts a record; in each partition they come in rising offsets. */
void offhome_add(struct offhome *offhome, const struct key *key, const struct offhome_record *record);

/* Sorts what is kept by partition, hash and key, at most OFFHOME_KEYS. Nothing may be added after it. */
void offhome_finish(struct offhome *offhome);

void offhome_release(struct offhome *offhome);

#endif

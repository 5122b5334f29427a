/*
 * offhome: keys with records in a partition that is not legal for them, those with the smallest hashes. Which ones are
 * kept does not depend on the order in which they come, unless their bytes are so many that fewer have room.
 *
 *     each partition: offhome_begin(&offhome, partition), and offhome_add for its records in rising offsets
 *     offhome_finish(&offhome)
 */
#ifndef ANALYZER_OFFHOME_H
#define ANALYZER_OFFHOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/keytable.h"
#include "analyzer/pool.h"

enum {
	OFFHOME_KEYS = 100000,
	OFFHOME_BYTES = 32 << 20 /* of their bytes, at most, where they are more than a hundred */
};

/* One line of a cache. */
struct offhome_key {
	int64_t hash;
	int64_t first_offset, last_offset, first_ms, last_ms;
	const uint8_t *key;      /* in the arena */
	uint32_t records;        /* 2^32 of one key are out of reach */
	int32_t partition, home;
	uint32_t key_size : 31;
	uint32_t stale : 1;      /* at home under an earlier count, from a producer that should have known better */
};

_Static_assert(sizeof(struct offhome_key) == 64, "a key fits a line of a cache");

/* A key of the partition at hand. */
struct offhome_slot {
	uint32_t tag;            /* of the hash */
	uint32_t at;             /* index + 1; 0: free */
};

/* Zero it; release it. */
struct offhome {
	struct offhome_key *keys; /* at the begin of a line, in room */
	void *room;
	size_t count, key_bytes;
	struct arena arena;
	struct offhome_slot *slots;
	size_t slot_count, used; /* slot_count is a power of two */
	int32_t partition;
	int64_t bound;           /* hashes at or above are not kept */
};

struct offhome_record {
	int64_t offset, timestamp_ms;
	int32_t home;
	bool stale;
};

/* The records that follow are of that partition, which had none before. */
void offhome_begin(struct offhome *offhome, int32_t partition);

/* Whether a key of that hash may be kept: offhome_add passes over others. */
static inline bool offhome_takes(const struct offhome *offhome, int64_t hash)
{
	return hash < offhome->bound;
}

/* Counts a record of a key that may be kept. */
void offhome_add(struct offhome *offhome, const struct key *key, const struct offhome_record *record);

static inline const struct offhome_slot *offhome_slot(const struct offhome *offhome, int64_t hash)
{
	return &offhome->slots[(size_t)hash & (offhome->slot_count - 1)];
}

/* Asks for the memory that offhome_add will touch: first the one, some time after it the other. */
static inline void offhome_prefetch_slot(const struct offhome *offhome, int64_t hash)
{
	__builtin_prefetch(offhome_slot(offhome, hash));
}

static inline void offhome_prefetch_key(const struct offhome *offhome, int64_t hash)
{
	uint32_t at = offhome_slot(offhome, hash)->at;

	if (at)
		__builtin_prefetch(&offhome->keys[at - 1]);
}

/* Sorts what is kept by partition, hash and key, at most OFFHOME_KEYS. Nothing may be added after it. */
void offhome_finish(struct offhome *offhome);

void offhome_release(struct offhome *offhome);

#endif

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

/* One line of a cache. */
struct offhome_key {
	int64_t hash;
	int64_t first_offset, last_offset, first_ms, last_ms;
	uint8_t *key;            /* owned */
	uint32_t records;        /* 2^32 of one key are out of reach */
	int32_t partition, home;
	uint32_t key_size : 31;
	uint32_t stale : 1;      /* at home under an earlier count, from a producer that should have known better */
};

_Static_assert(sizeof(struct offhome_key) == 64, "a key fits a line of a cache");

/* Zero it; release it. */
struct offhome {
	struct offhome_key *keys; /* at the begin of a line, in room */
	void *room;
	size_t count;
	uint32_t *slots;         /* index + 1; 0: free */
	int64_t bound;           /* hashes at or above are not kept; 0 before the first key */
};

struct offhome_record {
	int32_t partition, home;
	bool stale;
	int64_t offset, timestamp_ms;
};

/*
 * Counts a record; in each partition they come in rising offsets. at: what the call for the key's last record in the
 * partition gave, or 0: where to look first. Returns where the key is now, or 0 where it is not kept.
 */
uint32_t offhome_add(struct offhome *offhome, const struct key *key, const struct offhome_record *record, uint32_t at);

/* Asks for the memory that offhome_add(..., at) will touch. */
static inline void offhome_prefetch(const struct offhome *offhome, uint32_t at)
{
	if (at && at <= offhome->count)
		__builtin_prefetch(&offhome->keys[at - 1]);
}

/* Sorts what is kept by partition, hash and key, at most OFFHOME_KEYS. Nothing may be added after it. */
void offhome_finish(struct offhome *offhome);

void offhome_release(struct offhome *offhome);

#endif

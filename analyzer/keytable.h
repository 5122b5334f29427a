/*
 * keytable: the sampled keys of one topic while it is folded. An entry is a key with its fence; a place is what history
 * says of the key in one partition. Identity is hash and bytes.
 */
#ifndef ANALYZER_KEYTABLE_H
#define ANALYZER_KEYTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "analyzer/pool.h"

/* No entry, no place: the end of a list. */
#define NOBODY UINT32_MAX

/* X(NAME, word of fence_state.at_fence). What stands at the fence's partition and offset. */
#define AT_FENCE(X)                      \
	X(NONE, NULL)                    \
	X(OWN, "own")                    \
	X(OTHER, "other")                \
	X(ABORTED, "aborted")            \
	X(ABORTED_OTHER, "aborted-other") \
	X(GAP, "gap")                    \
	X(NOT_INDEXED, "not-indexed")    \
	X(UNSTABLE, "unstable")          \
	X(NOT_REPLAYED, "not-replayed")

#define AT_FENCE_ENUM(name, word) AT_##name,
enum at_fence { AT_FENCE(AT_FENCE_ENUM) };

struct key_entry {
	int64_t hash;
	const uint8_t *key;      /* in the table's arena */
	uint32_t key_size;
	uint32_t places;         /* the first of its places, or NOBODY */
	int64_t fence_id;        /* UNKNOWN: no look at Redis has a row for it */
	int64_t fence_offset;    /* UNKNOWN: no well-formed fence */
	int64_t fence_ms;        /* time of the record at the fence */
	int32_t fence_partition; /* -1: no well-formed fence; beyond int32 INT32_MAX, where no topic has a partition */
	uint8_t at_fence;        /* enum at_fence */
	bool fence_tombstone;
	bool elsewhere;          /* seen among aborted records or in an earlier incarnation */
	bool no_number;          /* a record up to the fence has no int64 value, or the sum is none */
	uint32_t rebases;
};

/* Beside an entry where the pipeline's state is last, count or sum; indexed like it. */
struct key_value {
	int64_t applied, sum;    /* since the last delete, up to the fence */
	int64_t rejected;        /* likewise: left out, because the DLQ names them */
	uint64_t value_hash;     /* of the record at the fence */
};

/* Two lines of a cache: the pass over the records touches little else. */
struct key_place {
	const uint8_t *key;      /* the entry's, to spare a look at it */
	uint32_t key_size;
	uint32_t entry;          /* NOBODY: a key that is not sampled and shares its hash with one that is */
	uint32_t next;           /* the entry's next place */
	int32_t partition;
	int16_t legal;           /* ordinal of the count under which it is home; -1: under none */
	bool fell;               /* times do not rise with the offsets: producers choose CreateTime */
	uint32_t records;        /* 2^32 of one key are out of reach, here and below */
	uint32_t lost;           /* binding records above the fence, those that are certain */
	int64_t fence_offset;    /* where the fence stands here; else -1, so that all records are above it */
	int64_t first_offset, last_offset, first_ms, last_ms;
	int64_t binding_offset, binding_ms;  /* the newest binding record that is certain; -1: none */
	int64_t lost_offset, lost_ms;        /* the first of the lost */
	/*
	 * At home, tombstones = delete: the newest in the horizon. Elsewhere: the newest binding record that is not
	 * certain. -1: none.
	 */
	int64_t tombstone_or_unsure;
	int64_t tombstone_any;   /* tombstones = delete: the newest anywhere; -1: none */
};

_Static_assert(sizeof(struct key_place) <= 128, "a place fits two lines of a cache");

/* Zero-initialise through keytable_init; release. */
struct keytable {
	struct pool entries, places, values; /* values is empty unless the state needs them */
	struct arena arena;
	uint32_t *slots;         /* index of an entry + 1; 0: free */
	size_t slot_count;       /* a power of two */
};

/* with_values: keep a struct key_value beside each entry. */
void keytable_init(struct keytable *table, bool with_values);
void keytable_release(struct keytable *table);
size_t keytable_bytes(const struct keytable *table);

static inline struct key_entry *keytable_entry(const struct keytable *table, uint32_t index)
{
	return pool_at(&table->entries, index);
}

static inline struct key_place *keytable_place(const struct keytable *table, uint32_t index)
{
	return pool_at(&table->places, index);
}

static inline struct key_value *keytable_value(const struct keytable *table, uint32_t index)
{
	return pool_at(&table->values, index);
}

/*
 * Where the search for a hash begins. The sample takes the lowest hashes, so their high bits hardly differ; the low
 * ones do.
 */
static inline const uint32_t *keytable_slot(const struct keytable *table, int64_t hash)
{
	return &table->slots[(size_t)hash & (table->slot_count - 1)];
}

static inline bool place_is(const struct key_place *place, const void *key, size_t size)
{
	return place->key_size == size && memcmp(place->key, key, size) == 0;
}

struct key {
	int64_t hash;
	const void *bytes;
	uint32_t size;
};

/* Index of the key's entry, or NOBODY; then *same_hash says whether another key has its hash. same_hash may be NULL. */
uint32_t keytable_find(const struct keytable *table, const struct key *key, bool *same_hash);

/* Adds an entry without fence for a key that has none, and copies its bytes. */
uint32_t keytable_add(struct keytable *table, const struct key *key);

/* Adds a place of an entry (NOBODY: of nobody) in a partition, with no records yet. */
uint32_t keytable_add_place(struct keytable *table, uint32_t entry, const struct key *key, int32_t partition);

/*
 * Forgets the keys whose hashes are at or above a threshold. map has an element per place: where the place is now, or
 * NOBODY.
 */
void keytable_keep_below(struct keytable *table, int64_t threshold, uint32_t *map);

/* The entry's place in the partition, or NULL. */
struct key_place *keytable_place_in(const struct keytable *table, const struct key_entry *entry, int32_t partition);

/* < 0, 0, > 0: by hash, then by bytes; a shorter key first where one begins like the other. */
int key_compare(int64_t a_hash, const void *a, size_t a_size, int64_t b_hash, const void *b, size_t b_size);

#endif

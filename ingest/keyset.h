/*
 * keyset: the record keys of one topic that a run looks at, in memory, in two strata (DESIGN 5.4).
 *
 * main: hash < T. T starts at 2^63-1 and halves until at most `limit` keys remain and the set fits its memory.
 * recent: keys with a record at or after a point (an offset per partition, or a timestamp), with a threshold of their
 * own, halved likewise. hash = xxh3(key) >> 1. Identity is hash and bytes. Null keys are no keys.
 *
 * Thresholds are (2^63-1) >> k and only fall, so that a set made from more history, or with a lower limit, is inside
 * the earlier one wherever both hold: samples nest. Inside its threshold a stratum is complete.
 */
#ifndef INGEST_KEYSET_H
#define INGEST_KEYSET_H

#include <stdbool.h>
#include <stdint.h>

#include "sql/keypart.h"
#include "sql/keyprefix.h"
#include "sql/run.h"
#include "sql/sqlite.h"
#include "sql/trouble.h"

enum { STRATUM_MAIN = 1, STRATUM_RECENT = 2 };

struct keyset;

struct keyset_range {
	int64_t incarnation_id;
	int32_t partition;
	int64_t start, end;    /* offsets to read */
	int64_t recent_offset; /* records at or above are recent; INT64_MAX: none by offset */
	int64_t recent_ms;     /* records with a timestamp at or above are recent; INT64_MAX: none by time */
};

/*
 * limit: keys per stratum (INT64_MAX for --all); memory: bytes for both strata together; only_recent: --since, no main
 * sample.
 */
struct keyset *keyset_new(int64_t limit, size_t memory, bool only_recent);
void keyset_free(struct keyset *keys);

/* From now on, what keyset_add reads is cut: the part of a key is the key. */
void keyset_cut(struct keyset *keys, enum keypart part);
enum keypart keyset_part(const struct keyset *keys);

/* From now on, prefixes of the format are noted, of all keys that keyset_add reads. */
void keyset_note_prefixes(struct keyset *keys, enum key_format format);
struct key_prefixes *keyset_prefixes(struct keyset *keys);

/*
 * Reads a range of the history from the index and adds its keys, those of tombstones and of aborted records included.
 * May be called again for the tail. 0, or -1 on a damaged chunk, trouble of the index, or when the run is to stop.
 */
int keyset_add(const struct run *run, struct keyset *keys, sqlite3 *db, const struct keyset_range *range,
	       struct trouble *t);

/*
 * Adds one key to the strata it belongs to; a key outside the thresholds changes nothing. Copies the bytes; key may be
 * NULL where size is 0.
 */
void keyset_put(struct keyset *keys, int64_t hash, const void *key, uint32_t size, bool recent);

/*
 * Halves T and drops the keys that are left outside: for a look at Redis that shows more keys than the sample may have.
 */
void keyset_halve(struct keyset *keys);

int64_t keyset_hash(const void *key, size_t size);
int64_t keyset_limit(const struct keyset *keys);
int64_t keyset_main_threshold(const struct keyset *keys); /* T; 0: no main sample */
int64_t keyset_recent_threshold(const struct keyset *keys);
int64_t keyset_main_count(const struct keyset *keys);
int64_t keyset_recent_count(const struct keyset *keys); /* keys in the recent stratum, those also in main included */
int64_t keyset_count(const struct keyset *keys);        /* keys in either stratum, each once */
size_t keyset_bytes(const struct keyset *keys);         /* memory in use */

/*
 * Distinct keys of the history: exact while T is 2^63-1, else the count over the sampled fraction; UNKNOWN without a
 * main sample.
 */
int64_t keyset_estimate(const struct keyset *keys);

struct keyset_entry {
	int64_t hash;
	const void *key; /* owned by the set */
	uint32_t size;
	uint8_t strata;
	bool seen;       /* a look at Redis has a row for it */
	bool present;    /* and something was there */
	uint8_t written; /* strata of that row */
};

/* The entry of a key, or NULL. Valid until keys are added or T halves. */
struct keyset_entry *keyset_find(struct keyset *keys, int64_t hash, const void *key, size_t size);

/* A look at Redis takes the key; until it says otherwise, something is there. */
static inline void keyset_see(struct keyset_entry *entry)
{
	entry->seen = entry->present = true;
	entry->written = entry->strata;
}

/* Tells the processor that a keyset_find of hash is near. */
void keyset_prefetch(const struct keyset *keys, int64_t hash);

/* Walks entries in the order in which their keys came: *at starts at 0; NULL at the end. */
struct keyset_entry *keyset_next(struct keyset *keys, size_t *at);

#endif

/*
 * redis_seen: the Redis keys without a record that a scan has taken, so that none is taken twice. SCAN may show a key
 * more than once.
 *
 * Of each key 128 bits are kept: the hash that also decides its place in the sample, and a second one. Two keys would
 * have to agree in all of them for one to be missed.
 */
#ifndef INGEST_REDIS_SEEN_H
#define INGEST_REDIS_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redis_seen {
	struct redis_seen_key *slots;
	size_t count, room;
};

/* True where the key is new. */
bool redis_seen_add(struct redis_seen *seen, int64_t hash, const void *key, size_t size);

/* Tells the processor that a redis_seen_add of hash is near. */
void redis_seen_prefetch(const struct redis_seen *seen, int64_t hash);

int64_t redis_seen_count(const struct redis_seen *seen);
size_t redis_seen_bytes(const struct redis_seen *seen);

/* Forgets the keys with a hash at or above threshold. */
void redis_seen_cut(struct redis_seen *seen, int64_t threshold);

void redis_seen_release(struct redis_seen *seen);

#endif

/* redis_seen: open addressing; an all-zero slot is free, for the second hash is never 0. */
#include "ingest/redis_seen.h"

#include <stdlib.h>
#include <xxhash.h>

#include "sql/mem.h"

enum { ROOM_FIRST = 1024 };

struct redis_seen_key {
	int64_t hash;
	uint64_t second;
};

static const uint64_t SECOND_SEED = UINT64_C(0x66656e6365);

/* The slot of a key: its own, or the free one where it belongs. */
static struct redis_seen_key *place(const struct redis_seen *seen, struct redis_seen_key key)
{
	size_t mask = seen->room - 1, at = (size_t)key.hash & mask;

	while (seen->slots[at].second && (seen->slots[at].hash != key.hash || seen->slots[at].second != key.second))
		at = (at + 1) & mask;
	return &seen->slots[at];
}

static void rebuild(struct redis_seen *seen, size_t room, int64_t threshold)
{
	struct redis_seen old = *seen;

	*seen = (struct redis_seen){ .slots = xarray(room, sizeof(*seen->slots)), .room = room };
	for (size_t i = 0; i < old.room; i++) {
		if (!old.slots[i].second || old.slots[i].hash >= threshold)
			continue;
		*place(seen, old.slots[i]) = old.slots[i];
		seen->count++;
	}
	free(old.slots);
}

bool redis_seen_add(struct redis_seen *seen, int64_t hash, const void *key, size_t size)
{
	struct redis_seen_key k = { .hash = hash, .second = XXH3_64bits_withSeed(key, size, SECOND_SEED) | 1 }, *at;

	if (seen->count >= seen->room - seen->room / 4)
		rebuild(seen, seen->room ? seen->room * 2 : ROOM_FIRST, INT64_MAX);
	at = place(seen, k);
	if (at->second)
		return false;
	*at = k;
	seen->count++;
	return true;
}

void redis_seen_prefetch(const struct redis_seen *seen, int64_t hash)
{
	if (seen->room)
		__builtin_prefetch(&seen->slots[(size_t)hash & (seen->room - 1)]);
}

int64_t redis_seen_count(const struct redis_seen *seen)
{
	return (int64_t)seen->count;
}

size_t redis_seen_bytes(const struct redis_seen *seen)
{
	return seen->room * sizeof(*seen->slots);
}

void redis_seen_cut(struct redis_seen *seen, int64_t threshold)
{
	size_t kept = 0, room = ROOM_FIRST;

	for (size_t i = 0; i < seen->room; i++)
		kept += seen->slots[i].second && seen->slots[i].hash < threshold;
	while (room - room / 4 <= kept)
		room *= 2;
	if (seen->room)
		rebuild(seen, room, threshold);
}

void redis_seen_release(struct redis_seen *seen)
{
	free(seen->slots);
	*seen = (struct redis_seen){ 0 };
}

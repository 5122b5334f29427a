/*
 * pool: items of one size that are only ever added. They live in blocks, so that growing moves nothing and needs no
 * second copy, and are known by their index.
 */
#ifndef ANALYZER_POOL_H
#define ANALYZER_POOL_H

#include <stddef.h>
#include <stdint.h>

enum { POOL_BLOCK = 4096 }; /* items */

/* Zero it, set item to the size of one; release it. */
struct pool {
	size_t item, count, blocks;
	uint8_t **block;
};

static inline void *pool_at(const struct pool *pool, size_t index)
{
	return pool->block[index / POOL_BLOCK] + index % POOL_BLOCK * pool->item;
}

/* A new item, zeroed, at index count - 1. Valid until the pool is released. */
void *pool_add(struct pool *pool);

/* Bytes held. */
size_t pool_bytes(const struct pool *pool);

/* Frees the items; the pool can be used again. */
void pool_release(struct pool *pool);

/* Bytes of any length that are only ever added: keys. Zero it; release it. */
struct arena {
	uint8_t **block;
	size_t blocks, used, room, bytes;
};

/* A copy of bytes[0..size), valid until the arena is released. */
const uint8_t *arena_add(struct arena *arena, const void *bytes, size_t size);
void arena_release(struct arena *arena);

#endif

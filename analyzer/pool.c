/* pool: items and bytes in blocks. */
#include "analyzer/pool.h"

#include <stdlib.h>
#include <string.h>

#include "sql/mem.h"

enum { ARENA_BLOCK = 1 << 20 };

void *pool_add(struct pool *pool)
{
	if (pool->count == pool->blocks * POOL_BLOCK) {
		pool->block = xgrow(pool->block, pool->blocks + 1, sizeof(*pool->block));
		pool->block[pool->blocks++] = xarray(POOL_BLOCK, pool->item);
	}
	return pool_at(pool, pool->count++);
}

size_t pool_bytes(const struct pool *pool)
{
	return pool->blocks * POOL_BLOCK * pool->item;
}

void pool_release(struct pool *pool)
{
	for (size_t i = 0; i < pool->blocks; i++)
		free(pool->block[i]);
	free(pool->block);
	*pool = (struct pool){ .item = pool->item };
}

static void arena_block(struct arena *arena, size_t size)
{
	arena->block = xgrow(arena->block, arena->blocks + 1, sizeof(*arena->block));
	arena->block[arena->blocks++] = xalloc(size);
	arena->used = 0;
	arena->room = size;
	arena->bytes += size;
}

const uint8_t *arena_add(struct arena *arena, const void *bytes, size_t size)
{
	uint8_t *at;

	if (arena->room - arena->used < size || !arena->blocks)
		arena_block(arena, size > ARENA_BLOCK ? size : ARENA_BLOCK);
	at = arena->block[arena->blocks - 1] + arena->used;
	if (size)
		memcpy(at, bytes, size);
	arena->used += size;
	return at;
}

void arena_release(struct arena *arena)
{
	for (size_t i = 0; i < arena->blocks; i++)
		free(arena->block[i]);
	free(arena->block);
	*arena = (struct arena){ 0 };
}

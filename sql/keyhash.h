/*
 * The hash by which keys are sampled and found again: XXH3 of the key's bytes, 64 bits, shifted right by one so that it
 * is never negative in SQL. A key is in a sample when its hash is below the sample's threshold. Identity is the hash
 * and the bytes.
 */
#ifndef SQL_KEYHASH_H
#define SQL_KEYHASH_H

#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

/* key may be NULL where len is 0. */
static inline int64_t key_hash(const void *key, size_t len)
{
	return (int64_t)(XXH3_64bits(key, len) >> 1);
}

#endif

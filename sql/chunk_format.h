/*
 * chunk_format: the numbers of the format page (sql/chunk.h), for the two files that write and read it.
 */
#ifndef SQL_CHUNK_FORMAT_H
#define SQL_CHUNK_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "chunks are read and written as they lie in memory");

enum {
	CHUNK_HEADER_SIZE = 32,
	CHUNK_ENTRY_SIZE = 12,
	CHUNK_CHECKSUM_SIZE = 8,
};

#define CHUNK_MAGIC "fpch"

enum chunk_codec { CODEC_RAW = 0, CODEC_CONSTANT = 1, CODEC_ZSTD = 2 };

/* One entry of the directory. */
struct chunk_entry {
	uint8_t id, codec, width, zero;
	uint32_t encoded, decoded;
};

_Static_assert(sizeof(struct chunk_entry) == CHUNK_ENTRY_SIZE, "an entry lies in memory as in the blob");

/* Everything before the directory. */
struct chunk_header {
	char magic[4];
	uint16_t version, entries;
	uint32_t records, zero;
	int64_t first_offset, first_ms;
};

_Static_assert(sizeof(struct chunk_header) == CHUNK_HEADER_SIZE, "a header lies in memory as in the blob");

static inline uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

#endif

/*
 * chunk: up to 16,384 records of one partition as one blob of columns. This page is the format; table chunk holds the
 * blobs.
 *
 * All numbers are little endian. A blob is a header, a directory, the columns in the directory's order, and a checksum:
 *
 *     at  size
 *      0     4  magic "fpch"
 *      4     2  version, 1. A newer one is refused
 *      6     2  n, entries of the directory
 *      8     4  records, 1 to 16,384
 *     12     4  0
 *     16     8  offset of the first record
 *     24     8  timestamp of the first record, ms
 *     32  12 n  directory, ascending by id:
 *                 0  1  id (enum chunk_column_id); readers skip the ids they do not know
 *                 1  1  codec: 0 raw, 1 constant (one element, repeated), 2 zstd (one frame that states its size)
 *                 2  1  width of an element in bytes: 1, 2, 4 or 8
 *                 3  1  0
 *                 4  4  encoded size, bytes in the blob
 *                 8  4  decoded size, bytes: records x width; of a column of bytes: their number
 *      .     .  columns
 *      .     8  XXH3-64 of all bytes before
 *
 * A column of numbers has one element per record, all of the least width that the largest of them needs:
 *
 *     offset        offset - previous offset - 1; 0 for the first. Dense history is a constant 0
 *     timestamp     zigzag(timestamp - previous timestamp); 0 for the first. zigzag(x) = x << 1 ^ x >> 63
 *     key size      bytes; 0 for a null key
 *     key bytes     the keys, one after another (a column of bytes: width 1, never constant)
 *     value size    bytes + 1; 0 for a tombstone
 *     value hash    XXH3-64 of the value; 0 for a tombstone. Width 8
 *     flags         RECORD_*. Width 1
 *     number        zigzag(number); 0 where flags lack RECORD_NUMBER
 *     source topic size, source topic bytes, source partition (zigzag), source offset (zigzag)
 *                   0 and nothing where flags lack RECORD_SOURCE
 *
 * A reader must take nothing on trust: chunk_decode checks every size before it uses it, and refuses in words.
 */
#ifndef SQL_CHUNK_H
#define SQL_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/trouble.h"

enum {
	CHUNK_VERSION = 1,
	CHUNK_RECORDS_MAX = 16384,
	CHUNK_KEY_BYTES_FULL = 16 << 20, /* a chunk with so many bytes of keys (or source topics) is full */
	CHUNK_KEY_MAX = 240 << 20,	 /* bytes of one key; more is refused. Brokers refuse it long before */
};

/* Ids in the directory. Never reused; producer is reserved. */
enum chunk_column_id {
	CHUNK_ID_OFFSET = 1,
	CHUNK_ID_TIMESTAMP = 2,
	CHUNK_ID_KEY_SIZE = 3,
	CHUNK_ID_KEY_BYTES = 4,
	CHUNK_ID_VALUE_SIZE = 5,
	CHUNK_ID_VALUE_HASH = 6,
	CHUNK_ID_FLAGS = 7,
	CHUNK_ID_NUMBER = 8,
	CHUNK_ID_SOURCE_TOPIC_SIZE = 9,
	CHUNK_ID_SOURCE_TOPIC_BYTES = 10,
	CHUNK_ID_SOURCE_PARTITION = 11,
	CHUNK_ID_SOURCE_OFFSET = 12,
	CHUNK_ID_PRODUCER = 13,
};

/* What to write, and what to read: a bit mask. */
enum chunk_columns {
	CHUNK_OFFSET = 1 << 0,
	CHUNK_TIMESTAMP = 1 << 1,
	CHUNK_KEY = 1 << 2,
	CHUNK_VALUE_SIZE = 1 << 3,
	CHUNK_VALUE_HASH = 1 << 4,
	CHUNK_FLAGS = 1 << 5,
	CHUNK_NUMBER = 1 << 6,
	CHUNK_SOURCE = 1 << 7,
	/* What every chunk has; add CHUNK_NUMBER where state is a sum, CHUNK_SOURCE for a DLQ or output topic. */
	CHUNK_ALWAYS = CHUNK_OFFSET | CHUNK_TIMESTAMP | CHUNK_KEY | CHUNK_VALUE_SIZE | CHUNK_VALUE_HASH | CHUNK_FLAGS,
};

/* Column kind of table chunk. */
enum chunk_kind { CHUNK_COMMITTED = 0, CHUNK_ABORTED = 1 };

/* Bits of the flags column. */
enum record_flags {
	RECORD_TOMBSTONE = 1, /* the value is null */
	RECORD_NULL_KEY = 2,
	RECORD_NUMBER = 4, /* number holds the value */
	RECORD_SOURCE = 8, /* the source coordinates are known */
	RECORD_NO_PART = 128, /* never stored: chunk_scan_cut took the key for none, for it has no such part */
};

/* One record, as a source hands it over. Pointers are borrowed for the call. */
struct record {
	int64_t offset, timestamp_ms;
	const void *key;
	int32_t key_size;    /* -1: null key */
	int64_t value_size;  /* -1: tombstone */
	uint64_t value_hash; /* XXH3_64bits of the value; 0 for a tombstone */
	bool has_number;
	int64_t number;		  /* the value as decimal int64, where has_number */
	const char *source_topic; /* where the record came from (DLQ, output); NULL: not known */
	size_t source_topic_size;
	int32_t source_partition;
	int64_t source_offset;
};

/* The bytes of one chunk. Zero it, reuse it, release it. */
struct chunk_blob {
	uint8_t *data;
	size_t size, capacity;
};

void chunk_blob_release(struct chunk_blob *blob);

/* --- writing: chunk_write.c -------------------------------------------------------------------------------------- */

/* The compressor and its scratch memory (about 2 MiB): one per thread, for all its builders. */
struct chunk_encoder;

/* level: of zstd; -5 while reading live, 1 offline. */
struct chunk_encoder *chunk_encoder_new(int level);
void chunk_encoder_free(struct chunk_encoder *encoder);

/* The records of one partition and kind until they become a chunk. */
struct chunk_builder;

struct chunk_builder *chunk_builder_new(unsigned columns);
void chunk_builder_free(struct chunk_builder *builder);

/*
 * Adds a record. 0; or -1 where the offset is negative or not above the last one, a size is out of range, or the
 * builder is full: ask chunk_builder_full after each one.
 */
int chunk_builder_add(struct chunk_builder *builder, const struct record *record, struct trouble *t);

/* Must be sealed before the next record. */
bool chunk_builder_full(const struct chunk_builder *builder);

/* What a builder has taken since it was sealed. */
struct chunk_span {
	size_t records;
	int64_t first_offset, end_offset; /* end: the last record's offset + 1 */
	int64_t min_ms, max_ms;		  /* both inside */
};

/* All but records are UNKNOWN where it is 0. */
struct chunk_span chunk_builder_span(const struct chunk_builder *builder);

/*
 * Bytes of memory that the builder holds. They stay held after a seal, for the next records, until
 * chunk_builder_shrink.
 */
size_t chunk_builder_bytes(const struct chunk_builder *builder);

/* Gives back the memory of an empty builder; one that has records is left as it is. */
void chunk_builder_shrink(struct chunk_builder *builder);

/* Encodes what the builder has, at least one record, into blob, which grows as needed, and empties the builder. */
void chunk_builder_seal(struct chunk_builder *builder, struct chunk_encoder *encoder, struct chunk_blob *blob);

/* --- reading: chunk_read.c --------------------------------------------------------------------------------------- */

/*
 * One decoded chunk. Columns that were not asked for, or that the chunk does not have, are NULL. Borrowed until the
 * reader's next decode.
 */
struct chunk_view {
	size_t records;
	const int64_t *offset; /* strictly ascending, none negative */
	const int64_t *timestamp_ms;
	const uint32_t *key_at; /* records + 1: key i is key_bytes[key_at[i] .. key_at[i + 1]); flags: null or empty */
	const uint8_t *key_bytes;
	const int64_t *value_size; /* -1: tombstone */
	const uint64_t *value_hash;
	const uint8_t *flags;
	const int64_t *number;		 /* valid where flags has RECORD_NUMBER */
	const uint32_t *source_topic_at; /* like key_at; valid where flags has RECORD_SOURCE, as the next three */
	const uint8_t *source_topic_bytes;
	const int32_t *source_partition;
	const int64_t *source_offset;
};

/* Index of the first record of [from, to) at or above an offset, or to. */
static inline size_t chunk_at_offset(const struct chunk_view *view, size_t from, size_t to, int64_t offset)
{
	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (view->offset[middle] < offset)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* The decompressor and the memory of its view. One per thread. */
struct chunk_reader;

struct chunk_reader *chunk_reader_new(void);
void chunk_reader_free(struct chunk_reader *reader);

/* Decodes the wanted columns (enum chunk_columns). 0; or -1 where the blob is damaged, and view is all zero. */
int chunk_decode(struct chunk_reader *reader, const void *blob, size_t size, unsigned wanted, struct chunk_view *view,
		 struct trouble *t);

#endif

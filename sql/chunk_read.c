/*
 * chunk_read: a blob into columns. Nothing in the blob is trusted: the checksum finds accidents, the checks after it
 * also stand against a blob that was made to harm. What is refused is refused in words.
 */
#include "sql/chunk.h"

#include <stdlib.h>
#include <xxhash.h>
#include <zstd.h>

#include "sql/chunk_format.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"

enum { BYTES_MAX = CHUNK_KEY_MAX + CHUNK_KEY_BYTES_FULL }; /* of a column of bytes */

/* The memory of the arrays is made when a column is first asked for, CHUNK_RECORDS_MAX elements each. */
struct chunk_reader {
	ZSTD_DCtx *zstd;
	uint64_t *elements; /* one column, widened */
	uint8_t *scratch;   /* one column, as it was written */
	int64_t *offset, *timestamp_ms, *value_size, *number, *source_offset;
	uint64_t *value_hash;
	uint32_t *key_at, *source_topic_at;
	int32_t *source_partition;
	uint8_t *flags;
	uint8_t *key_bytes, *source_topic_bytes;
	size_t key_held, source_topic_held;
};

/* A blob being decoded. */
struct decoding {
	struct chunk_reader *reader;
	struct chunk_header header;
	const uint8_t *entries; /* header.entries of them, unaligned */
	const uint8_t *columns; /* the first column's bytes */
	size_t records;
	struct trouble *t;
};

/* A column found in the directory. */
struct found {
	struct chunk_entry entry;
	const uint8_t *encoded;
	const char *name;
};

struct chunk_reader *chunk_reader_new(void)
{
	struct chunk_reader *reader = xalloc(sizeof(*reader));

	reader->zstd = xneed(ZSTD_createDCtx());
	reader->elements = xarray(CHUNK_RECORDS_MAX, sizeof(uint64_t));
	reader->scratch = xarray(CHUNK_RECORDS_MAX, sizeof(uint64_t));
	return reader;
}

void chunk_reader_free(struct chunk_reader *reader)
{
	if (!reader)
		return;
	ZSTD_freeDCtx(reader->zstd);
	free(reader->elements);
	free(reader->scratch);
	free(reader->offset);
	free(reader->timestamp_ms);
	free(reader->value_size);
	free(reader->number);
	free(reader->source_offset);
	free(reader->value_hash);
	free(reader->key_at);
	free(reader->source_topic_at);
	free(reader->source_partition);
	free(reader->flags);
	free(reader->key_bytes);
	free(reader->source_topic_bytes);
	free(reader);
}

/* An array of a reader, made at its first use: one more element than records, for the ends of keys. */
static void *array(void *slot, size_t size)
{
	void *at;

	memcpy(&at, slot, sizeof(at));
	if (!at) {
		at = xarray(CHUNK_RECORDS_MAX + 1, size);
		memcpy(slot, &at, sizeof(at));
	}
	return at;
}

/* --- the frame of a blob ----------------------------------------------------------------------------------------- */

static int check_header(const struct chunk_header *h, size_t size, struct trouble *t)
{
	if (memcmp(h->magic, CHUNK_MAGIC, sizeof(h->magic)))
		return trouble_set(t, "not a chunk: wrong magic");
	if (h->version != CHUNK_VERSION)
		return trouble_set(t, "chunk version %u, this program reads %d", h->version, CHUNK_VERSION);
	if (!h->records || h->records > CHUNK_RECORDS_MAX)
		return trouble_set(t, "%u records in a chunk of at most %d", h->records, CHUNK_RECORDS_MAX);
	if (h->first_offset < 0)
		return trouble_set(t, "a first offset of %lld", (long long)h->first_offset);
	if (size - CHUNK_HEADER_SIZE - CHUNK_CHECKSUM_SIZE < (size_t)h->entries * CHUNK_ENTRY_SIZE)
		return trouble_set(t, "truncated: the directory of %u columns does not fit in %zu bytes", h->entries,
				   size);
	return 0;
}

static struct chunk_entry entry_at(const struct decoding *d, size_t i)
{
	struct chunk_entry e;

	memcpy(&e, d->entries + i * CHUNK_ENTRY_SIZE, sizeof(e));
	return e;
}

/* The columns must fill the blob exactly. */
static int check_directory(const struct decoding *d, size_t room)
{
	unsigned last_id = 0;
	uint64_t sum = 0;

	for (size_t i = 0; i < d->header.entries; i++) {
		struct chunk_entry e = entry_at(d, i);

		if (e.id <= last_id)
			return trouble_set(d->t, "column %u comes after column %u", e.id, last_id);
		last_id = e.id;
		sum += e.encoded;
	}
	if (sum != room)
		return trouble_set(d->t, "truncated: columns of %llu bytes in a room of %zu", (unsigned long long)sum,
				   room);
	return 0;
}

static int open_blob(struct decoding *d, const uint8_t *blob, size_t size)
{
	size_t before;
	uint64_t checksum;

	if (size < CHUNK_HEADER_SIZE + CHUNK_CHECKSUM_SIZE)
		return trouble_set(d->t, "truncated: a chunk of %zu bytes", size);
	memcpy(&d->header, blob, sizeof(d->header));
	if (check_header(&d->header, size, d->t) < 0)
		return -1;
	memcpy(&checksum, blob + size - CHUNK_CHECKSUM_SIZE, sizeof(checksum));
	if (FAULT(CHUNK_CHECKSUM) || checksum != XXH3_64bits(blob, size - CHUNK_CHECKSUM_SIZE))
		return trouble_set(d->t, "the checksum does not match");
	before = CHUNK_HEADER_SIZE + (size_t)d->header.entries * CHUNK_ENTRY_SIZE;
	d->entries = blob + CHUNK_HEADER_SIZE;
	d->columns = blob + before;
	d->records = d->header.records;
	return check_directory(d, size - before - CHUNK_CHECKSUM_SIZE);
}

/* 1 found, 0 the chunk does not have it. */
static int find(const struct decoding *d, enum chunk_column_id id, const char *name, struct found *found)
{
	const uint8_t *encoded = d->columns;

	for (size_t i = 0; i < d->header.entries; i++) {
		struct chunk_entry e = entry_at(d, i);

		if (e.id == id) {
			*found = (struct found){ e, encoded, name };
			return 1;
		}
		encoded += e.encoded;
	}
	return 0;
}

static int bad(const struct decoding *d, const struct found *f, const char *why)
{
	return trouble_set(d->t, "column %s: %s", f->name, why);
}

/* --- one column -------------------------------------------------------------------------------------------------- */

/* Raw and zstd: exactly f->entry.decoded bytes to out, which has room for them. */
static int unpack(const struct decoding *d, const struct found *f, uint8_t *out)
{
	size_t decoded = f->entry.decoded, got;

	if (f->entry.codec == CODEC_RAW) {
		if (f->entry.encoded != decoded)
			return bad(d, f, "sizes of a raw column differ");
		if (decoded)
			memcpy(out, f->encoded, decoded);
		return 0;
	}
	if (f->entry.codec != CODEC_ZSTD)
		return bad(d, f, "unknown codec");
	got = ZSTD_decompressDCtx(d->reader->zstd, out, decoded, f->encoded, f->entry.encoded);
	if (ZSTD_isError(got))
		return bad(d, f, ZSTD_getErrorName(got));
	return got == decoded && !FAULT(CHUNK_DECODE) ? 0 : bad(d, f, "zstd gave another size");
}

static uint64_t one_element(const uint8_t *at, unsigned width)
{
	uint64_t value = 0;

	memcpy(&value, at, width);
	return value;
}

#define WIDEN(type)                                                                                                    \
	do {                                                                                                           \
		for (size_t i = 0; i < records; i++) {                                                                 \
			type element;                                                                                  \
			memcpy(&element, in + i * sizeof(element), sizeof(element));                                   \
			out[i] = element;                                                                              \
		}                                                                                                      \
	} while (0)

static void widen(const uint8_t *in, unsigned width, size_t records, uint64_t *out)
{
	if (width == 1)
		WIDEN(uint8_t);
	else if (width == 2)
		WIDEN(uint16_t);
	else if (width == 4)
		WIDEN(uint32_t);
	else
		memcpy(out, in, records * sizeof(*out));
}

/* One number per record to out. */
static int numbers(const struct decoding *d, const struct found *f, uint64_t *out)
{
	unsigned width = f->entry.width;

	if (width != 1 && width != 2 && width != 4 && width != 8)
		return bad(d, f, "impossible width");
	if (f->entry.decoded != d->records * width)
		return bad(d, f, "its size is not that of one element per record");
	if (f->entry.codec == CODEC_CONSTANT) {
		uint64_t value;

		if (f->entry.encoded != width)
			return bad(d, f, "a constant that is not one element");
		value = one_element(f->encoded, width);
		for (size_t i = 0; i < d->records; i++)
			out[i] = value;
		return 0;
	}
	if (unpack(d, f, d->reader->scratch) < 0)
		return -1;
	widen(d->reader->scratch, width, d->records, out);
	return 0;
}

/* A column that every chunk must have, to the reader's elements. */
static int need(const struct decoding *d, enum chunk_column_id id, const char *name)
{
	struct found f;

	if (!find(d, id, name, &f))
		return trouble_set(d->t, "column %s: missing", name);
	return numbers(d, &f, d->reader->elements);
}

/* Bytes for all records, at most BYTES_MAX, into memory that grows. */
struct byte_memory {
	uint8_t **at;
	size_t *held;
};

static int bytes(const struct decoding *d, const struct found *f, struct byte_memory to)
{
	if (f->entry.width != 1)
		return bad(d, f, "impossible width");
	if (f->entry.decoded > BYTES_MAX)
		return bad(d, f, "more bytes than a chunk may have");
	if (f->entry.codec == CODEC_ZSTD && ZSTD_getFrameContentSize(f->encoded, f->entry.encoded) != f->entry.decoded)
		return bad(d, f, "zstd states another size");
	if (f->entry.codec == CODEC_RAW && f->entry.encoded != f->entry.decoded)
		return bad(d, f, "sizes of a raw column differ");
	if (!*to.at || *to.held < f->entry.decoded) {
		*to.held = f->entry.decoded + f->entry.decoded / 4 + 64;
		*to.at = xgrow(*to.at, *to.held, 1);
	}
	return unpack(d, f, *to.at);
}

/* Sizes in the reader's elements become positions; their sum must be that of the bytes. */
static int positions(const struct decoding *d, const struct found *f, uint32_t *at)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < d->records; i++) {
		uint64_t size = d->reader->elements[i];

		at[i] = (uint32_t)sum;
		sum += size > BYTES_MAX ? (uint64_t)BYTES_MAX + 1 : size;
	}
	at[d->records] = (uint32_t)sum;
	return sum == f->entry.decoded ? 0 : bad(d, f, "its size is not the sum of the sizes");
}

/* --- what the view shows ----------------------------------------------------------------------------------------- */

static int read_offset(const struct decoding *d, struct chunk_view *view)
{
	int64_t *offset = array(&d->reader->offset, sizeof(*offset));
	const uint64_t *gap = d->reader->elements;
	uint64_t last = (uint64_t)d->header.first_offset - 1, wrong = 0;

	if (need(d, CHUNK_ID_OFFSET, "offset") < 0)
		return -1;
	for (size_t i = 0; i < d->records; i++) {
		uint64_t next = last + 1 + gap[i];

		/* Neither a step nor its result may leave [0, INT64_MAX); first - 1 may be -1. */
		wrong |= gap[i] | next | (next == INT64_MAX ? UINT64_MAX : 0);
		offset[i] = (int64_t)next;
		last = next;
	}
	if (wrong >> 63 || gap[0])
		return trouble_set(d->t, "column offset: offsets do not ascend");
	view->offset = offset;
	return 0;
}

static int read_timestamp(const struct decoding *d, struct chunk_view *view)
{
	int64_t *ms = array(&d->reader->timestamp_ms, sizeof(*ms));
	uint64_t last = (uint64_t)d->header.first_ms;

	if (need(d, CHUNK_ID_TIMESTAMP, "timestamp") < 0)
		return -1;
	for (size_t i = 0; i < d->records; i++) {
		last += (uint64_t)unzigzag(d->reader->elements[i]);
		ms[i] = (int64_t)last;
	}
	view->timestamp_ms = ms;
	return 0;
}

static int read_key(const struct decoding *d, struct chunk_view *view)
{
	struct chunk_reader *reader = d->reader;
	uint32_t *at = array(&reader->key_at, sizeof(*at));
	struct found f;

	if (need(d, CHUNK_ID_KEY_SIZE, "key size") < 0)
		return -1;
	if (!find(d, CHUNK_ID_KEY_BYTES, "key bytes", &f))
		return trouble_set(d->t, "column key bytes: missing");
	if (positions(d, &f, at) < 0 || bytes(d, &f, (struct byte_memory){ &reader->key_bytes, &reader->key_held }) < 0)
		return -1;
	view->key_at = at;
	view->key_bytes = reader->key_bytes;
	return 0;
}

static int read_value_size(const struct decoding *d, struct chunk_view *view)
{
	int64_t *size = array(&d->reader->value_size, sizeof(*size));
	uint64_t wrong = 0;

	if (need(d, CHUNK_ID_VALUE_SIZE, "value size") < 0)
		return -1;
	for (size_t i = 0; i < d->records; i++) {
		wrong |= d->reader->elements[i];
		size[i] = (int64_t)(d->reader->elements[i] - 1);
	}
	if (wrong >> 63)
		return trouble_set(d->t, "column value size: a negative size");
	view->value_size = size;
	return 0;
}

static int read_value_hash(const struct decoding *d, struct chunk_view *view)
{
	uint64_t *hash = array(&d->reader->value_hash, sizeof(*hash));
	struct found f;

	if (!find(d, CHUNK_ID_VALUE_HASH, "value hash", &f))
		return trouble_set(d->t, "column value hash: missing");
	if (numbers(d, &f, hash) < 0)
		return -1;
	view->value_hash = hash;
	return 0;
}

static int read_flags(const struct decoding *d, struct chunk_view *view)
{
	uint8_t *flags = array(&d->reader->flags, sizeof(*flags));
	uint64_t known = RECORD_TOMBSTONE | RECORD_NULL_KEY, seen = 0;
	struct found f;

	if (need(d, CHUNK_ID_FLAGS, "flags") < 0)
		return -1;
	if (find(d, CHUNK_ID_NUMBER, "number", &f))
		known |= RECORD_NUMBER;
	if (find(d, CHUNK_ID_SOURCE_OFFSET, "source offset", &f))
		known |= RECORD_SOURCE;
	for (size_t i = 0; i < d->records; i++) {
		seen |= d->reader->elements[i];
		flags[i] = (uint8_t)d->reader->elements[i];
	}
	if (seen & ~known)
		return trouble_set(d->t, "column flags: a flag that has no meaning here");
	view->flags = flags;
	return 0;
}

static int read_number(const struct decoding *d, struct chunk_view *view)
{
	int64_t *number = array(&d->reader->number, sizeof(*number));
	struct found f;

	if (!find(d, CHUNK_ID_NUMBER, "number", &f))
		return 0;
	if (numbers(d, &f, d->reader->elements) < 0)
		return -1;
	for (size_t i = 0; i < d->records; i++)
		number[i] = unzigzag(d->reader->elements[i]);
	view->number = number;
	return 0;
}

static int read_source_topic(const struct decoding *d, struct chunk_view *view)
{
	struct chunk_reader *reader = d->reader;
	uint32_t *at = array(&reader->source_topic_at, sizeof(*at));
	struct byte_memory memory = { &reader->source_topic_bytes, &reader->source_topic_held };
	struct found f;

	if (need(d, CHUNK_ID_SOURCE_TOPIC_SIZE, "source topic size") < 0)
		return -1;
	if (!find(d, CHUNK_ID_SOURCE_TOPIC_BYTES, "source topic bytes", &f))
		return trouble_set(d->t, "column source topic bytes: missing");
	if (positions(d, &f, at) < 0 || bytes(d, &f, memory) < 0)
		return -1;
	view->source_topic_at = at;
	view->source_topic_bytes = reader->source_topic_bytes;
	return 0;
}

static int read_source(const struct decoding *d, struct chunk_view *view)
{
	int32_t *partition = array(&d->reader->source_partition, sizeof(*partition));
	int64_t *offset = array(&d->reader->source_offset, sizeof(*offset));
	struct found f;

	if (!find(d, CHUNK_ID_SOURCE_OFFSET, "source offset", &f))
		return 0;
	if (numbers(d, &f, d->reader->elements) < 0)
		return -1;
	for (size_t i = 0; i < d->records; i++)
		offset[i] = unzigzag(d->reader->elements[i]);
	if (need(d, CHUNK_ID_SOURCE_PARTITION, "source partition") < 0)
		return -1;
	for (size_t i = 0; i < d->records; i++)
		partition[i] = (int32_t)unzigzag(d->reader->elements[i]);
	view->source_offset = offset;
	view->source_partition = partition;
	return read_source_topic(d, view);
}

int chunk_decode(struct chunk_reader *reader, const void *blob, size_t size, unsigned wanted, struct chunk_view *view,
		 struct trouble *t)
{
	static const struct {
		unsigned column;
		int (*read)(const struct decoding *d, struct chunk_view *view);
	} columns[] = {
		{ CHUNK_OFFSET, read_offset },
		{ CHUNK_TIMESTAMP, read_timestamp },
		{ CHUNK_KEY, read_key },
		{ CHUNK_VALUE_SIZE, read_value_size },
		{ CHUNK_VALUE_HASH, read_value_hash },
		{ CHUNK_FLAGS, read_flags },
		{ CHUNK_NUMBER, read_number },
		{ CHUNK_SOURCE, read_source },
	};
	struct decoding d = { .reader = reader, .t = t };

	*view = (struct chunk_view){ .records = 0 };
	if (open_blob(&d, blob, size) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		if (wanted & columns[i].column && columns[i].read(&d, view) < 0) {
			*view = (struct chunk_view){ .records = 0 };
			return -1;
		}
	}
	view->records = d.records;
	return 0;
}

/*
 * chunk_write: records into columns, columns into a blob. A column is kept in memory as it will be written: in the
 * least width that its largest element needs. It starts at one byte and is widened when an element does not fit, so
 * that sealing has nothing left to convert and a thousand builders of a thousand partitions hold little. The last few
 * elements wait as they came, because narrowing many at a time costs a third of narrowing each.
 */
#include "sql/chunk.h"

#include <stdlib.h>
#include <xxhash.h>
#include <zstd.h>

#include "sql/chunk_format.h"
#include "sql/mem.h"
#include "sql/run.h"

enum { WAITING = 64 };

/* Numbers, one a record. */
struct column {
	uint8_t *at;
	size_t held;	/* bytes allocated */
	unsigned width; /* 1, 2, 4, 8 */
	uint64_t first;
	uint64_t bits, changes;	   /* or of all elements, or of all that they differ from the first in */
	uint64_t waiting[WAITING]; /* the newest, records % WAITING of them */
};

/* Bytes, some a record. */
struct bytes_column {
	uint8_t *at;
	size_t size, held;
};

struct chunk_builder {
	unsigned columns;
	size_t records;
	int64_t first_offset, last_offset, first_ms, last_ms, min_ms, max_ms;
	struct column offset, timestamp, key_size, value_size, value_hash, flags, number;
	struct column source_topic_size, source_partition, source_offset;
	struct bytes_column key, source_topic;
};

struct chunk_encoder {
	ZSTD_CCtx *zstd;
};

/* --- columns in memory ------------------------------------------------------------------------------------------- */

static void column_reset(struct column *column, unsigned width)
{
	column->width = width;
	column->first = column->bits = column->changes = 0;
}

static void column_free(struct column *column)
{
	free(column->at);
	column->at = NULL;
	column->held = 0;
}

/* Room for bytes; more than asked, because the column grows. */
static void column_hold(struct column *column, size_t bytes)
{
	if (bytes <= column->held)
		return;
	column->held = 2 * bytes;
	column->at = xgrow(column->at, column->held, 1);
}

static uint64_t element(const struct column *column, size_t i)
{
	uint64_t value = 0;

	memcpy(&value, column->at + i * column->width, column->width);
	return value;
}

/* Gives the first count elements the width that bits need. From the back, because they move up. */
static void column_widen(struct column *column, size_t count, uint64_t bits)
{
	unsigned width = column->width;

	while (width < 8 && bits >> 8 * width)
		width *= 2;
	if (width == column->width)
		return;
	column_hold(column, count * width);
	for (size_t i = count; i-- > 0;) {
		uint64_t old = element(column, i);

		memcpy(column->at + i * width, &old, width);
	}
	column->width = width;
}

#define NARROW(type)                                                                                                   \
	do {                                                                                                           \
		for (size_t i = 0; i < count; i++) {                                                                   \
			type narrow = (type)values[i];                                                                 \
			memcpy(out + i * sizeof(narrow), &narrow, sizeof(narrow));                                     \
		}                                                                                                      \
	} while (0)

static void narrow(const uint64_t *values, size_t count, unsigned width, uint8_t *out)
{
	if (width == 1)
		NARROW(uint8_t);
	else if (width == 2)
		NARROW(uint16_t);
	else if (width == 4)
		NARROW(uint32_t);
	else
		memcpy(out, values, count * sizeof(*values));
}

/* The waiting elements join those before them. */
static void column_settle(struct column *column, size_t before, size_t count)
{
	uint64_t first = before || !count ? column->first : column->waiting[0];
	uint64_t bits = column->bits, changes = column->changes;

	for (size_t i = 0; i < count; i++) {
		bits |= column->waiting[i];
		changes |= column->waiting[i] ^ first;
	}
	column->first = first;
	column->bits = bits;
	column->changes = changes;
	column_widen(column, before, bits);
	column_hold(column, (before + count) * column->width);
	narrow(column->waiting, count, column->width, column->at + before * column->width);
}

static inline void column_put(struct column *column, size_t count, uint64_t value)
{
	column->waiting[count % WAITING] = value;
}

static void bytes_put(struct bytes_column *column, const void *bytes, size_t size)
{
	if (column->held - column->size < size) {
		column->held = 2 * (column->size + size) + 1024;
		column->at = xgrow(column->at, column->held, 1);
	}
	if (size)
		memcpy(column->at + column->size, bytes, size);
	column->size += size;
}

static void bytes_free(struct bytes_column *column)
{
	free(column->at);
	*column = (struct bytes_column){ .at = NULL };
}

/* --- the builder ------------------------------------------------------------------------------------------------- */

/* The columns of numbers of a builder. */
#define ALWAYS_COLUMNS(X) X(offset) X(timestamp) X(key_size) X(value_size) X(value_hash) X(flags)
#define NUMBER_COLUMNS(X) X(number)
#define SOURCE_COLUMNS(X) X(source_topic_size) X(source_partition) X(source_offset)
#define BUILDER_COLUMNS(X) ALWAYS_COLUMNS(X) NUMBER_COLUMNS(X) SOURCE_COLUMNS(X)

static void builder_reset(struct chunk_builder *b)
{
#define RESET(name) column_reset(&b->name, 1);
	BUILDER_COLUMNS(RESET)
#undef RESET
	column_reset(&b->value_hash, 8);
	b->key.size = b->source_topic.size = 0;
	b->records = 0;
}

struct chunk_builder *chunk_builder_new(unsigned columns)
{
	struct chunk_builder *b = xalloc(sizeof(*b));

	b->columns = columns | CHUNK_ALWAYS;
	builder_reset(b);
	return b;
}

static void builder_release(struct chunk_builder *b)
{
#define FREE(name) column_free(&b->name);
	BUILDER_COLUMNS(FREE)
#undef FREE
	bytes_free(&b->key);
	bytes_free(&b->source_topic);
}

void chunk_builder_free(struct chunk_builder *b)
{
	if (!b)
		return;
	builder_release(b);
	free(b);
}

void chunk_builder_shrink(struct chunk_builder *b)
{
	if (b->records)
		return;
	builder_release(b);
	builder_reset(b);
}

size_t chunk_builder_bytes(const struct chunk_builder *b)
{
	size_t bytes = sizeof(*b) + b->key.held + b->source_topic.held;

#define HELD(name) bytes += b->name.held;
	BUILDER_COLUMNS(HELD)
#undef HELD
	return bytes;
}

bool chunk_builder_full(const struct chunk_builder *b)
{
	return b->records >= CHUNK_RECORDS_MAX || b->key.size >= CHUNK_KEY_BYTES_FULL ||
	       b->source_topic.size >= CHUNK_KEY_BYTES_FULL;
}

struct chunk_span chunk_builder_span(const struct chunk_builder *b)
{
	if (!b->records)
		return (struct chunk_span){ 0, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN };
	return (struct chunk_span){ b->records, b->first_offset, b->last_offset + 1, b->min_ms, b->max_ms };
}

/* What must hold before a record can be added. */
static int check_record(const struct chunk_builder *b, const struct record *r, struct trouble *t)
{
	if (chunk_builder_full(b))
		return trouble_set(t, "record at %lld: the chunk is full", (long long)r->offset);
	if (r->offset < 0 || r->offset == INT64_MAX)
		return trouble_set(t, "record at %lld: no offset", (long long)r->offset);
	if (b->records && r->offset <= b->last_offset)
		return trouble_set(t, "record at %lld comes after %lld", (long long)r->offset,
				   (long long)b->last_offset);
	if (r->key_size < -1 || r->key_size > CHUNK_KEY_MAX)
		return trouble_set(t, "record at %lld: a key of %ld bytes, more than %d", (long long)r->offset,
				   (long)r->key_size, CHUNK_KEY_MAX);
	if (r->value_size < -1 || r->value_size == INT64_MAX)
		return trouble_set(t, "record at %lld: a value of %lld bytes", (long long)r->offset,
				   (long long)r->value_size);
	if (r->source_topic && r->source_topic_size > CHUNK_KEY_MAX)
		return trouble_set(t, "record at %lld: a source topic of %zu bytes", (long long)r->offset,
				   r->source_topic_size);
	return 0;
}

static void begin(struct chunk_builder *b, const struct record *r)
{
	b->first_offset = r->offset;
	b->last_offset = r->offset - 1;
	b->first_ms = b->last_ms = b->min_ms = b->max_ms = r->timestamp_ms;
}

static void put_time(struct chunk_builder *b, int64_t ms)
{
	column_put(&b->timestamp, b->records, zigzag((int64_t)((uint64_t)ms - (uint64_t)b->last_ms)));
	b->last_ms = ms;
	if (ms < b->min_ms)
		b->min_ms = ms;
	if (ms > b->max_ms)
		b->max_ms = ms;
}

static void put_source(struct chunk_builder *b, const struct record *r)
{
	bool known = r->source_topic;

	column_put(&b->source_topic_size, b->records, known ? r->source_topic_size : 0);
	bytes_put(&b->source_topic, r->source_topic, known ? r->source_topic_size : 0);
	column_put(&b->source_partition, b->records, known ? zigzag(r->source_partition) : 0);
	column_put(&b->source_offset, b->records, known ? zigzag(r->source_offset) : 0);
}

/* Optional columns: the flags that say what they hold. */
static unsigned put_optional(struct chunk_builder *b, const struct record *r)
{
	unsigned flags = 0;

	if (b->columns & CHUNK_NUMBER) {
		column_put(&b->number, b->records, r->has_number ? zigzag(r->number) : 0);
		flags |= r->has_number ? RECORD_NUMBER : 0;
	}
	if (b->columns & CHUNK_SOURCE) {
		put_source(b, r);
		flags |= r->source_topic ? RECORD_SOURCE : 0;
	}
	return flags;
}

/* The last count records join their columns. */
static void settle(struct chunk_builder *b, size_t count)
{
	size_t before = b->records - count;

#define SETTLE(name) column_settle(&b->name, before, count);
	ALWAYS_COLUMNS(SETTLE)
	if (b->columns & CHUNK_NUMBER)
		NUMBER_COLUMNS(SETTLE)
	if (b->columns & CHUNK_SOURCE) {
		SOURCE_COLUMNS(SETTLE)
	}
#undef SETTLE
}

int chunk_builder_add(struct chunk_builder *b, const struct record *r, struct trouble *t)
{
	unsigned flags = (r->value_size < 0 ? RECORD_TOMBSTONE : 0) | (r->key_size < 0 ? RECORD_NULL_KEY : 0);
	size_t key_size = r->key_size < 0 ? 0 : (size_t)r->key_size;
	size_t n = b->records;

	if (check_record(b, r, t) < 0)
		return -1;
	if (!n)
		begin(b, r);
	column_put(&b->offset, n, (uint64_t)(r->offset - b->last_offset - 1));
	b->last_offset = r->offset;
	put_time(b, r->timestamp_ms);
	column_put(&b->key_size, n, key_size);
	bytes_put(&b->key, r->key, key_size);
	column_put(&b->value_size, n, (uint64_t)r->value_size + 1);
	column_put(&b->value_hash, n, r->value_size < 0 ? 0 : r->value_hash);
	flags |= put_optional(b, r);
	column_put(&b->flags, n, flags);
	if (++b->records % WAITING == 0)
		settle(b, WAITING);
	return 0;
}

/* --- the blob ---------------------------------------------------------------------------------------------------- */

struct chunk_encoder *chunk_encoder_new(int level)
{
	struct chunk_encoder *encoder = xalloc(sizeof(*encoder));

	encoder->zstd = xneed(ZSTD_createCCtx());
	ZSTD_CCtx_setParameter(encoder->zstd, ZSTD_c_compressionLevel, level);
	if (level < 0) { /* on keys a sixth faster than the level's own, at the same size */
		ZSTD_CCtx_setParameter(encoder->zstd, ZSTD_c_hashLog, 12);
		ZSTD_CCtx_setParameter(encoder->zstd, ZSTD_c_minMatch, 6);
	}
	return encoder;
}

void chunk_encoder_free(struct chunk_encoder *encoder)
{
	if (!encoder)
		return;
	ZSTD_freeCCtx(encoder->zstd);
	free(encoder);
}

void chunk_blob_release(struct chunk_blob *blob)
{
	free(blob->data);
	*blob = (struct chunk_blob){ .data = NULL };
}

/* Room for size more bytes. */
static uint8_t *blob_room(struct chunk_blob *blob, size_t size)
{
	if (blob->capacity - blob->size < size) {
		blob->capacity = blob->size + size + blob->size / 2;
		blob->data = xgrow(blob->data, blob->capacity, 1);
	}
	return blob->data + blob->size;
}

static void blob_put(struct chunk_blob *blob, const void *bytes, size_t size)
{
	uint8_t *room = blob_room(blob, size);

	if (size)
		memcpy(room, bytes, size);
	blob->size += size;
}

/* A blob under construction. */
struct sealing {
	struct chunk_encoder *encoder;
	struct chunk_blob *blob;
	struct chunk_entry entries[16];
	size_t count;
};

static void seal_entry(struct sealing *s, enum chunk_column_id id, enum chunk_codec codec, struct chunk_entry e)
{
	e.id = (uint8_t)id;
	e.codec = (uint8_t)codec;
	s->entries[s->count++] = e;
}

static void seal_bytes(struct sealing *s, enum chunk_column_id id, const uint8_t *bytes, struct chunk_entry e)
{
	size_t bound = ZSTD_compressBound(e.decoded);
	uint8_t *room = blob_room(s->blob, bound);
	size_t size =
		id == CHUNK_ID_VALUE_HASH ? SIZE_MAX : ZSTD_compress2(s->encoder->zstd, room, bound, bytes, e.decoded);

	if (size < e.decoded) { /* errors of zstd are above every size */
		e.encoded = (uint32_t)size;
		s->blob->size += size;
		seal_entry(s, id, CODEC_ZSTD, e);
		return;
	}
	e.encoded = e.decoded;
	blob_put(s->blob, bytes, e.decoded);
	seal_entry(s, id, CODEC_RAW, e);
}

static void seal_column(struct sealing *s, enum chunk_column_id id, const struct column *column, size_t records)
{
	struct chunk_entry e = { .width = (uint8_t)column->width, .decoded = (uint32_t)(records * column->width) };

	if (column->changes) {
		seal_bytes(s, id, column->at, e);
		return;
	}
	e.encoded = e.width;
	blob_put(s->blob, column->at, e.width);
	seal_entry(s, id, CODEC_CONSTANT, e);
}

static void seal_source(struct sealing *s, const struct chunk_builder *b)
{
	struct chunk_entry topic = { .width = 1, .decoded = (uint32_t)b->source_topic.size };

	seal_column(s, CHUNK_ID_SOURCE_TOPIC_SIZE, &b->source_topic_size, b->records);
	seal_bytes(s, CHUNK_ID_SOURCE_TOPIC_BYTES, b->source_topic.at, topic);
	seal_column(s, CHUNK_ID_SOURCE_PARTITION, &b->source_partition, b->records);
	seal_column(s, CHUNK_ID_SOURCE_OFFSET, &b->source_offset, b->records);
}

static void seal_columns(struct sealing *s, const struct chunk_builder *b)
{
	struct chunk_entry key = { .width = 1, .decoded = (uint32_t)b->key.size };

	seal_column(s, CHUNK_ID_OFFSET, &b->offset, b->records);
	seal_column(s, CHUNK_ID_TIMESTAMP, &b->timestamp, b->records);
	seal_column(s, CHUNK_ID_KEY_SIZE, &b->key_size, b->records);
	seal_bytes(s, CHUNK_ID_KEY_BYTES, b->key.at, key);
	seal_column(s, CHUNK_ID_VALUE_SIZE, &b->value_size, b->records);
	seal_column(s, CHUNK_ID_VALUE_HASH, &b->value_hash, b->records);
	seal_column(s, CHUNK_ID_FLAGS, &b->flags, b->records);
	if (b->columns & CHUNK_NUMBER)
		seal_column(s, CHUNK_ID_NUMBER, &b->number, b->records);
	if (b->columns & CHUNK_SOURCE)
		seal_source(s, b);
}

void chunk_builder_seal(struct chunk_builder *b, struct chunk_encoder *encoder, struct chunk_blob *blob)
{
	struct sealing s = { .encoder = encoder, .blob = blob };
	size_t entries = 7 + (b->columns & CHUNK_NUMBER ? 1 : 0) + (b->columns & CHUNK_SOURCE ? 4 : 0);
	struct chunk_header header = {
		.magic = CHUNK_MAGIC,
		.version = CHUNK_VERSION,
		.entries = (uint16_t)entries,
		.records = (uint32_t)b->records,
		.first_offset = b->first_offset,
		.first_ms = b->first_ms,
	};
	uint64_t checksum;

	settle(b, b->records % WAITING);
	blob->size = 0;
	blob_put(blob, &header, sizeof(header));
	blob_put(blob, s.entries, entries * sizeof(s.entries[0])); /* filled in below */
	seal_columns(&s, b);
	memcpy(blob->data + sizeof(header), s.entries, entries * sizeof(s.entries[0]));
	checksum = XXH3_64bits(blob->data, blob->size);
	blob_put(blob, &checksum, sizeof(checksum));
	builder_reset(b);
}

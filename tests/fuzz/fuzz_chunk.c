/*
 * fuzz_chunk: the chunk codec against a naive model (an array of records), and the decoder against blobs that are
 * mutated, with the checksum made right again. A fixed seed and a fixed number of rounds: fuzz_chunk [ROUNDS [SEED]].
 * Best under address and undefined.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "sql/chunk.h"
#include "sql/chunk_format.h"
#include "sql/mem.h"

enum { EVERYTHING = CHUNK_ALWAYS | CHUNK_NUMBER | CHUNK_SOURCE, ROUNDS = 200, MUTATIONS = 100 };

static uint64_t random_state;

static uint64_t random_bits(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1d;
}

static uint64_t below(uint64_t limit)
{
	return random_bits() % limit;
}

/* Numbers of every magnitude, the ends of each width included. */
static uint64_t any_number(void)
{
	uint64_t n = random_bits() >> below(64);

	if (below(4) == 0)
		n = ((uint64_t)1 << below(64)) - below(2);
	return n;
}

static void need(bool fact, const char *what)
{
	if (fact)
		return;
	fprintf(stderr, "fuzz_chunk: %s\n", what);
	abort();
}

/* --- the model --------------------------------------------------------------------------------------------------- */

struct model {
	size_t count;
	struct record records[CHUNK_RECORDS_MAX];
	uint8_t *bytes; /* random, for keys and topics to point into */
};

enum { MODEL_BYTES = 1 << 17 };

/* How a chunk's records are made: chunks that are alike in a way find other paths than those that are not. */
struct habit {
	uint64_t gap, time, key, size, number; /* one in so many is unusual; 0: all are alike */
};

static bool unusual(uint64_t one_in)
{
	return one_in && below(one_in) == 0;
}

static struct record next_record(const struct model *m, const struct habit *h, const struct record *last)
{
	int64_t room = INT64_MAX - last->offset - 2 * CHUNK_RECORDS_MAX;
	struct record r = { .offset = last->offset + 1,
			    .timestamp_ms = (int64_t)((uint64_t)last->timestamp_ms + 1),
			    .key = m->bytes + below(99),
			    .key_size = 12,
			    .value_size = 100,
			    .value_hash = random_bits() };

	if (unusual(h->gap) && room > 1)
		r.offset += (int64_t)(any_number() % ((uint64_t)room / 2 + 1));
	if (unusual(h->time))
		r.timestamp_ms = (int64_t)any_number();
	if (unusual(h->key))
		r.key_size = (int32_t)below(below(50) ? 40 : MODEL_BYTES - 100) - 1;
	if (unusual(h->size))
		r.value_size = (int64_t)(any_number() % INT64_MAX) - 1;
	if (r.value_size < 0)
		r.value_hash = 0;
	r.has_number = unusual(h->number);
	r.number = r.has_number ? (int64_t)any_number() : 0;
	if (unusual(h->number)) {
		r.source_topic = (const char *)m->bytes + below(3);
		r.source_topic_size = below(20);
		r.source_partition = (int32_t)any_number();
		r.source_offset = (int64_t)any_number();
	}
	return r;
}

static uint64_t any_habit(void)
{
	static const uint64_t habits[] = { 0, 1, 2, 10, 1000 };

	return habits[below(5)];
}

/* Fills model and builder alike. */
static void fill(struct model *m, struct chunk_builder *b)
{
	struct habit h = { any_habit(), any_habit(), any_habit(), any_habit(), any_habit() };
	struct record last = { .offset = (int64_t)below(1000) - 1, .timestamp_ms = 1700000000000 };
	size_t wanted = 1 + below(below(10) ? 300 : CHUNK_RECORDS_MAX);
	struct trouble t = { "" };

	for (m->count = 0; m->count < wanted && !chunk_builder_full(b); m->count++) {
		last = next_record(m, &h, &last);
		m->records[m->count] = last;
		need(chunk_builder_add(b, &last, &t) == 0, t.text);
	}
}

static void check_span(const struct model *m, struct chunk_span s)
{
	int64_t min = INT64_MAX, max = INT64_MIN;

	for (size_t i = 0; i < m->count; i++) {
		int64_t ms = m->records[i].timestamp_ms;

		min = ms < min ? ms : min;
		max = ms > max ? ms : max;
	}
	need(s.records == m->count && s.first_offset == m->records[0].offset &&
		     s.end_offset == m->records[m->count - 1].offset + 1 && s.min_ms == min && s.max_ms == max,
	     "span");
}

static bool same_bytes(const uint8_t *bytes, const uint32_t *at, const void *want, size_t size)
{
	return at[1] - at[0] == size && (!size || !memcmp(bytes + at[0], want, size));
}

static void check_one(const struct chunk_view *v, size_t i, const struct record *r)
{
	unsigned flags = (r->value_size < 0 ? RECORD_TOMBSTONE : 0) | (r->key_size < 0 ? RECORD_NULL_KEY : 0) |
			 (r->has_number ? RECORD_NUMBER : 0) | (r->source_topic ? RECORD_SOURCE : 0);

	need(v->offset[i] == r->offset, "offset");
	need(v->timestamp_ms[i] == r->timestamp_ms, "timestamp");
	need(same_bytes(v->key_bytes, v->key_at + i, r->key, r->key_size < 0 ? 0 : (size_t)r->key_size), "key");
	need(v->value_size[i] == r->value_size, "value size");
	need(v->value_hash[i] == r->value_hash, "value hash");
	need(v->flags[i] == flags, "flags");
	need(v->number[i] == r->number, "number");
	if (!r->source_topic)
		return;
	need(same_bytes(v->source_topic_bytes, v->source_topic_at + i, r->source_topic, r->source_topic_size),
	     "source topic");
	need(v->source_partition[i] == r->source_partition && v->source_offset[i] == r->source_offset, "source");
}

static void check_round_trip(const struct model *m, struct chunk_reader *reader, const struct chunk_blob *blob)
{
	struct trouble t = { "" };
	struct chunk_view v;

	need(chunk_decode(reader, blob->data, blob->size, EVERYTHING, &v, &t) == 0, t.text);
	need(v.records == m->count, "records");
	for (size_t i = 0; i < m->count; i++)
		check_one(&v, i, &m->records[i]);
}

/* --- mutations --------------------------------------------------------------------------------------------------- */

/* Mostly header and directory, where sizes are. */
static size_t any_place(size_t size)
{
	size_t front = CHUNK_HEADER_SIZE + 12 * CHUNK_ENTRY_SIZE + 16;

	return below(3) && front < size ? below(front) : below(size);
}

static size_t mutate(uint8_t *blob, size_t size)
{
	for (uint64_t changes = 1 + below(4); changes; changes--) {
		size_t at = any_place(size), width = (size_t)1 << below(4);
		uint64_t value = any_number();

		switch (below(4)) {
		case 0:
			blob[at] ^= (uint8_t)(1 << below(8));
			break;
		case 1:
			blob[at] = (uint8_t)random_bits();
			break;
		case 2:
			if (at + width <= size)
				memcpy(blob + at, &value, width);
			break;
		default:
			if (below(10) == 0 && at > CHUNK_HEADER_SIZE + CHUNK_CHECKSUM_SIZE)
				size = at;
		}
	}
	return size;
}

/*
 * --- mutations that keep the frame: directory, sizes and bytes agree, but what they say is wrong
 * -----------------------
 */

enum { COLUMNS_MAX = 16 };

struct parts {
	struct chunk_header header;
	struct chunk_entry entries[COLUMNS_MAX];
	uint8_t *bytes[COLUMNS_MAX]; /* owned */
};

static void take_apart(struct parts *p, const struct chunk_blob *blob)
{
	const uint8_t *at = blob->data + CHUNK_HEADER_SIZE;

	memcpy(&p->header, blob->data, sizeof(p->header));
	memcpy(p->entries, at, p->header.entries * sizeof(p->entries[0]));
	at += p->header.entries * sizeof(p->entries[0]);
	for (size_t i = 0; i < p->header.entries; i++) {
		p->bytes[i] = xmemdup(at, p->entries[i].encoded);
		at += p->entries[i].encoded;
	}
}

static uint8_t *put_together(const struct parts *p, size_t *size)
{
	size_t front = CHUNK_HEADER_SIZE + p->header.entries * sizeof(p->entries[0]);
	uint8_t *blob, *at;

	*size = front + CHUNK_CHECKSUM_SIZE;
	for (size_t i = 0; i < p->header.entries; i++)
		*size += p->entries[i].encoded;
	blob = xalloc(*size);
	memcpy(blob, &p->header, sizeof(p->header));
	memcpy(blob + CHUNK_HEADER_SIZE, p->entries, p->header.entries * sizeof(p->entries[0]));
	at = blob + front;
	for (size_t i = 0; i < p->header.entries; i++) {
		memcpy(at, p->bytes[i], p->entries[i].encoded);
		at += p->entries[i].encoded;
		free(p->bytes[i]);
	}
	return blob;
}

/* New bytes for a column, in any codec. */
static void replace(struct parts *p, size_t i)
{
	static const uint8_t widths[] = { 1, 2, 4, 8, 1, 2, 4, 8, 0, 3, 16, 255 };
	struct chunk_entry *e = &p->entries[i];
	size_t size;

	e->width = widths[below(sizeof(widths))];
	e->codec = (uint8_t)below(2);
	e->decoded = p->header.records * (below(8) ? e->width : 1);
	e->encoded = e->codec == 1 ? e->width : e->decoded;
	if (below(8) == 0)
		e->encoded = (uint32_t)below(3 * (uint64_t)e->decoded + 2);
	if (below(8) == 0)
		e->decoded = (uint32_t)below(3 * (uint64_t)e->decoded + 2);
	size = e->encoded;
	free(p->bytes[i]);
	p->bytes[i] = xalloc(size);
	for (size_t at = 0; at < size; at++)
		p->bytes[i][at] = below(4) ? 0 : (uint8_t)random_bits();
}

/* Another number of records, and all columns constants that say the same number. */
static void recount(struct parts *p)
{
	p->header.records = (uint32_t)below(below(2) ? 40000 : 20);
	for (size_t i = 0; i < p->header.entries; i++) {
		struct chunk_entry *e = &p->entries[i];

		if (e->width == 0 || (e->codec == 0 && e->encoded < e->width) || below(30) == 0)
			continue;
		e->decoded = p->header.records * e->width;
		e->codec = 1;
		if (e->encoded >= e->width)
			e->encoded = e->width;
	}
}

/* The same bytes as a zstd frame of fewer or more records. */
static void say_other_size(struct parts *p, size_t i)
{
	p->entries[i].decoded = (uint32_t)below(2 * (uint64_t)p->entries[i].decoded + 2);
	if (below(2) && p->entries[i].encoded)
		p->entries[i].encoded = 1 + (uint32_t)below(p->entries[i].encoded);
}

static uint8_t *reshape(const struct chunk_blob *blob, size_t *size)
{
	struct parts p;

	take_apart(&p, blob);
	for (uint64_t changes = 1 + below(3); changes; changes--) {
		size_t i = below(p.header.entries);

		switch (below(4)) {
		case 0:
			recount(&p);
			break;
		case 1:
			say_other_size(&p, i);
			break;
		default:
			replace(&p, i);
		}
	}
	return put_together(&p, size);
}

/* --- the attack -------------------------------------------------------------------------------------------------- */

/* Reads all that a view promises, so that a sanitizer sees what is not there. */
static uint64_t touch_bytes(const uint32_t *at, const uint8_t *bytes, size_t records)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < records; i++) {
		need(at[i] <= at[i + 1], "positions do not ascend");
		for (uint32_t b = at[i]; b < at[i + 1]; b++)
			sum += bytes[b];
	}
	return sum;
}

static uint64_t touch(const struct chunk_view *v)
{
	uint64_t sum = touch_bytes(v->key_at, v->key_bytes, v->records);

	need(v->records > 0 && v->records <= CHUNK_RECORDS_MAX, "impossible count");
	for (size_t i = 0; i < v->records; i++) {
		need(v->offset[i] >= 0 && v->offset[i] < INT64_MAX, "impossible offset");
		need(!i || v->offset[i] > v->offset[i - 1], "offsets do not ascend");
		need(v->value_size[i] >= -1, "impossible value size");
		need(!(v->flags[i] & RECORD_NUMBER) || v->number, "a number without a column");
		need(!(v->flags[i] & RECORD_SOURCE) || v->source_offset, "a source without a column");
		sum += (uint64_t)v->timestamp_ms[i] + v->value_hash[i] + (v->number ? (uint64_t)v->number[i] : 0);
		sum += v->source_offset ? (uint64_t)v->source_offset[i] + (uint64_t)v->source_partition[i] : 0;
	}
	return sum + (v->source_topic_at ? touch_bytes(v->source_topic_at, v->source_topic_bytes, v->records) : 0);
}

static uint8_t *scratch_and_cut(const struct chunk_blob *blob, size_t *size)
{
	uint8_t *copy = xmemdup(blob->data, blob->size), *exact;

	*size = mutate(copy, blob->size);
	exact = xmemdup(copy, *size);
	free(copy);
	return exact;
}

/* Decodes a mutated copy of exact size, so that reading past its end is seen. True where it was still a chunk. */
static bool attack(struct chunk_reader *reader, const struct chunk_blob *blob)
{
	size_t size;
	uint8_t *copy = below(2) ? scratch_and_cut(blob, &size) : reshape(blob, &size);
	struct trouble t = { "" };
	struct chunk_view v;
	uint64_t checksum;
	bool well;

	if (below(20) && size >= CHUNK_CHECKSUM_SIZE) {
		checksum = XXH3_64bits(copy, size - CHUNK_CHECKSUM_SIZE);
		memcpy(copy + size - CHUNK_CHECKSUM_SIZE, &checksum, sizeof(checksum));
	}
	well = chunk_decode(reader, copy, size, EVERYTHING, &v, &t) == 0;
	if (well)
		random_state ^= touch(&v) & 1; /* so that it is not left out */
	else
		need(t.text[0] && !v.records && !v.offset, "refused without words");
	free(copy);
	return well;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : ROUNDS, passed = 0;
	struct model *m = xalloc(sizeof(*m));
	struct chunk_builder *builders[2] = { chunk_builder_new(EVERYTHING), chunk_builder_new(EVERYTHING) };
	struct chunk_encoder *encoder = chunk_encoder_new(-5);
	struct chunk_reader *reader = chunk_reader_new();
	struct chunk_blob blob = { .data = NULL };

	random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : 88172645463325252;
	m->bytes = xalloc(MODEL_BYTES);
	for (size_t i = 0; i < MODEL_BYTES; i++)
		m->bytes[i] = (uint8_t) "0123456789abcdef"[below(16)];
	for (long round = 0; round < rounds; round++) {
		struct chunk_builder *b = builders[below(2)];

		fill(m, b);
		check_span(m, chunk_builder_span(b));
		chunk_builder_seal(b, encoder, &blob);
		check_round_trip(m, reader, &blob);
		for (int i = 0; i < MUTATIONS; i++)
			passed += attack(reader, &blob);
		if (below(10) == 0)
			chunk_builder_shrink(b);
	}
	printf("fuzz_chunk: %ld chunks round, %ld mutations, %ld of them still chunks\n", rounds, rounds * MUTATIONS,
	       passed);
	chunk_builder_free(builders[0]);
	chunk_builder_free(builders[1]);
	chunk_encoder_free(encoder);
	chunk_reader_free(reader);
	chunk_blob_release(&blob);
	free(m->bytes);
	free(m);
	return 0;
}

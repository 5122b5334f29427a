/*
 * chunk_samples: two chunks for the tests of the codec; the golden files hold the same.
 */
#ifndef TESTS_UNIT_CHUNK_SAMPLES_H
#define TESTS_UNIT_CHUNK_SAMPLES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/chunk.h"

enum { EVERYTHING = CHUNK_ALWAYS | CHUNK_NUMBER | CHUNK_SOURCE };

static inline void add(struct chunk_builder *b, struct record record)
{
	struct trouble t = { "" };

	if (chunk_builder_add(b, &record, &t) < 0)
		abort();
}

static inline struct chunk_blob seal(struct chunk_builder *b)
{
	struct chunk_encoder *encoder = chunk_encoder_new(1);
	struct chunk_blob blob = { .data = NULL };

	chunk_builder_seal(b, encoder, &blob);
	chunk_encoder_free(encoder);
	return blob;
}

/* One record: nothing in it is worth compressing, so its bytes are the same with every zstd. */
static inline struct chunk_blob make_one(void)
{
	struct chunk_builder *b = chunk_builder_new(CHUNK_ALWAYS);
	struct chunk_blob blob;

	add(b, (struct record){ .offset = 1000,
				.timestamp_ms = 1700000000123,
				.key = "user-1",
				.key_size = 6,
				.value_size = 300,
				.value_hash = 0x0123456789abcdef });
	blob = seal(b);
	chunk_builder_free(b);
	return blob;
}

/* Every column, every flag, every width. */
static inline struct record many_record(int64_t i, char *key)
{
	struct record r = {
		.offset = 5 + i + i / 100 * 1000,
		.timestamp_ms = 1700000000000 + 37 * (i % 50) - i,
		.key = key,
		.value_size = i % 7 ? 100 + i : -1,
		.value_hash = i % 7 ? (uint64_t)i * 0x9e3779b97f4a7c15 : 0,
		.has_number = i % 3 == 0,
		.number = i * i * i * (i % 2 ? -1 : 1),
	};

	r.key_size = i % 11 == 5
			     ? -1
			     : snprintf(key, 64, "%.*s%lld", (int)(i % 20), "customer-abcdefghijklmno", (long long)i);
	if (i % 5 == 0) {
		r.source_topic = i % 2 ? "orders" : "payments";
		r.source_topic_size = strlen(r.source_topic);
		r.source_partition = (int32_t)(i % 13);
		r.source_offset = i * 1000;
	}
	return r;
}

enum { MANY = 2000 };

static inline struct chunk_blob make_many(void)
{
	struct chunk_builder *b = chunk_builder_new(EVERYTHING);
	struct chunk_blob blob;
	char key[64];

	for (int64_t i = 0; i < MANY; i++)
		add(b, many_record(i, key));
	blob = seal(b);
	chunk_builder_free(b);
	return blob;
}

#endif

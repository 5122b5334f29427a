/*
 * chunk_bench: what the chunk codec costs per record and how many bytes it needs, for people: chunk_bench [LEVEL]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <xxhash.h>

#include "sql/chunk.h"
#include "sql/mem.h"

enum { CHUNKS = 128, RECORDS = CHUNKS * CHUNK_RECORDS_MAX };

struct shape {
	const char *name;
	unsigned keys;	    /* distinct ones */
	unsigned gap_every; /* an offset missing after so many records; 0: never */
	unsigned jitter_ms; /* timestamps step by up to so much */
	const char *key;    /* printf format of the key's number */
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static double now_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
	return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

static struct record *make_records(const struct shape *shape, char (*keys)[32])
{
	struct record *records = xarray(RECORDS, sizeof(*records));
	uint64_t random = 88172645463325252;
	int64_t offset = 0, ms = 1700000000000;

	for (size_t i = 0; i < RECORDS; i++) {
		unsigned number = (unsigned)(next_random(&random) % shape->keys);
		int size = snprintf(keys[i], sizeof(keys[i]), "user-%0*u", shape->key[0] - '0', number);

		offset += 1 + (shape->gap_every && i % shape->gap_every == 0);
		ms += (int64_t)(next_random(&random) % (shape->jitter_ms + 1));
		records[i] = (struct record){ .offset = offset,
					      .timestamp_ms = ms,
					      .key = keys[i],
					      .key_size = size,
					      .value_size = 80 + (int64_t)(next_random(&random) % 20),
					      .value_hash = next_random(&random) };
	}
	return records;
}

static double bench_encode(const struct record *records, int level, struct chunk_blob *blobs)
{
	struct chunk_encoder *encoder = chunk_encoder_new(level);
	struct chunk_builder *builder = chunk_builder_new(CHUNK_ALWAYS);
	double begun = now_ns();
	struct trouble t;

	for (size_t i = 0, chunk = 0; i < RECORDS; i++) {
		if (chunk_builder_add(builder, &records[i], &t) < 0)
			abort();
		if (chunk_builder_full(builder))
			chunk_builder_seal(builder, encoder, &blobs[chunk++]);
	}
	begun = (now_ns() - begun) / RECORDS;
	chunk_builder_free(builder);
	chunk_encoder_free(encoder);
	return begun;
}

static double bench_decode(const struct chunk_blob *blobs, unsigned columns)
{
	struct chunk_reader *reader = chunk_reader_new();
	struct chunk_view view;
	double begun = now_ns();
	struct trouble t;

	for (size_t round = 0; round < 4; round++) {
		for (size_t i = 0; i < CHUNKS; i++) {
			if (chunk_decode(reader, blobs[i].data, blobs[i].size, columns, &view, &t) < 0)
				abort();
		}
	}
	begun = (now_ns() - begun) / RECORDS / 4;
	chunk_reader_free(reader);
	return begun;
}

static void bench(const struct shape *shape, int level)
{
	char(*keys)[32] = xarray(RECORDS, sizeof(*keys));
	struct record *records = make_records(shape, keys);
	struct chunk_blob *blobs = xarray(CHUNKS, sizeof(*blobs));
	double encode, size = 0;

	bench_encode(records, level, blobs); /* warm */
	encode = bench_encode(records, level, blobs);
	for (size_t i = 0; i < CHUNKS; i++)
		size += (double)blobs[i].size;
	printf("%-28s level %2d: %5.1f B/record (%.1f and an 8 byte hash), encode %5.1f ns, decode offset+key+flags "
	       "%5.1f ns, "
	       "offset %4.1f ns, all %5.1f ns\n",
	       shape->name, level, size / RECORDS, size / RECORDS - 8, encode,
	       bench_decode(blobs, CHUNK_OFFSET | CHUNK_KEY | CHUNK_FLAGS), bench_decode(blobs, CHUNK_OFFSET),
	       bench_decode(blobs, CHUNK_ALWAYS));
	for (size_t i = 0; i < CHUNKS; i++)
		chunk_blob_release(&blobs[i]);
	free(blobs);
	free(records);
	free(keys);
}

int main(int argc, char **argv)
{
	static const struct shape shapes[] = {
		{ "dense, 10 M keys", 10000000, 0, 1, "7" },
		{ "dense, 10,000 keys", 10000, 0, 1, "7" },
		{ "gaps, 10 M keys, jitter", 10000000, 100, 500, "7" },
		{ "dense, 10 M keys of 15 bytes", 10000000, 0, 1, "9" },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (argc > 1) {
			bench(&shapes[i], atoi(argv[1]));
			continue;
		}
		bench(&shapes[i], -5);
		bench(&shapes[i], 1);
	}
	return 0;
}

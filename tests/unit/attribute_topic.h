/*
 * attribute_topic: a topic whose keys are made, placed by a known function or by chance, and asked about.
 */
#ifndef TESTS_UNIT_ATTRIBUTE_TOPIC_H
#define TESTS_UNIT_ATTRIBUTE_TOPIC_H

#include "analyzer/attribute.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sql/mem.h"
#include "sql/partitioner.h"
#include "sql/placer.h"

enum { KEY_ROOM = 48 };

static uint64_t random_state;

/* splitmix64: a fixed sequence from a fixed seed. */
static inline uint64_t random_next(void)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline uint64_t random_below(uint64_t n)
{
	return random_next() % n;
}

/* --- keys -------------------------------------------------------------------------------------------------------- */

#define SHAPES(X)        X(TEXT) X(UUID) X(LONG) X(SEQUENCE) X(BINARY)
#define SHAPE_ENUM(name) SHAPE_##name,
enum shape { SHAPES(SHAPE_ENUM) SHAPE_COUNT };

/* Keys of one shape, each of them once. */
struct maker {
	enum shape shape;
	uint64_t next;
};

static inline size_t make_uuid(uint8_t *out)
{
	uint64_t a = random_next(), b = random_next();

	return (size_t)snprintf((char *)out, KEY_ROOM, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(a >> 32),
				(unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xfff), (unsigned)(0x8000 | (b >> 50)),
				(unsigned long long)(b & 0xffffffffffff));
}

static inline size_t make_key(struct maker *maker, uint8_t *out)
{
	uint64_t number = maker->shape == SHAPE_LONG ? random_below(1u << 31) : maker->next;
	size_t size = 8;

	maker->next += maker->shape == SHAPE_TEXT ? 1 + random_below(5) : 1;
	if (maker->shape == SHAPE_TEXT)
		return (size_t)snprintf((char *)out, KEY_ROOM, "user-%llu", (unsigned long long)number);
	if (maker->shape == SHAPE_UUID)
		return make_uuid(out);
	if (maker->shape == SHAPE_BINARY)
		size = 5 + random_below(28);
	for (size_t i = 0; i < size; i++)
		out[i] = (uint8_t)(maker->shape == SHAPE_BINARY ? random_next() : number >> (8 * (7 - i)));
	return size;
}

/* --- a topic ----------------------------------------------------------------------------------------------------- */

/* What was seen of a topic. */
struct topic {
	struct attribute_seen *seen;
	struct key_bytes *other;
	size_t seen_n, other_n;
	int32_t n;
	struct placer own;
};

static inline void topic_add(struct topic *topic, struct key_bytes key, int32_t partition)
{
	int32_t home = placer_partition(&topic->own, key.bytes, key.len, topic->n);
	struct key_bytes copy = { xmemdup(key.bytes, key.len), key.len };

	if (home == partition) {
		topic->other = xgrow(topic->other, topic->other_n + 1, sizeof(*topic->other));
		topic->other[topic->other_n++] = copy;
		return;
	}
	topic->seen = xgrow(topic->seen, topic->seen_n + 1, sizeof(*topic->seen));
	topic->seen[topic->seen_n++] = (struct attribute_seen){ copy, partition };
}

/* n keys, placed by a partitioner over a part modulo count; at NULL: by chance. */
static inline void topic_fill(struct topic *topic, struct maker *maker, const struct attribute_placement *at, size_t n)
{
	uint8_t key[KEY_ROOM];

	for (size_t i = 0; i < n; i++) {
		size_t size = make_key(maker, key);
		int32_t partition = at ? placer_partition(&at->placer, key, size, at->partitions)
				       : (int32_t)random_below((uint64_t)topic->n);

		if (partition >= 0 && partition < topic->n)
			topic_add(topic, (struct key_bytes){ key, size }, partition);
	}
}

static inline void topic_release(struct topic *topic)
{
	for (size_t i = 0; i < topic->seen_n; i++)
		free((void *)topic->seen[i].key.bytes);
	for (size_t i = 0; i < topic->other_n; i++)
		free((void *)topic->other[i].bytes);
	free(topic->seen);
	free(topic->other);
}

/* An order that has nothing to do with the placement. */
static inline void shuffle(struct topic *topic)
{
	for (size_t i = topic->seen_n; i > 1; i--) {
		size_t j = random_below(i);
		struct attribute_seen seen = topic->seen[i - 1];

		topic->seen[i - 1] = topic->seen[j];
		topic->seen[j] = seen;
	}
}

static inline struct attribute_result ask(const struct topic *topic)
{
	struct key_bytes *sampled = xarray(topic->seen_n + topic->other_n, sizeof(*sampled));
	struct attribute_input in = { .seen = topic->seen,
				      .seen_n = topic->seen_n,
				      .sampled = sampled,
				      .sampled_n = topic->seen_n + topic->other_n,
				      .partitions = topic->n,
				      .own = topic->own };
	struct attribute_result out = { 0 };

	for (size_t i = 0; i < topic->seen_n; i++)
		sampled[i] = topic->seen[i].key;
	for (size_t i = 0; i < topic->other_n; i++)
		sampled[topic->seen_n + i] = topic->other[i];
	attribute(&in, &out);
	free(sampled);
	return out;
}

static const struct placer murmur2_whole = { &partitioners[PARTITIONER_murmur2], KEYPART_WHOLE };

static inline struct attribute_placement placement(int partitioner, enum keypart part, int32_t partitions)
{
	return (struct attribute_placement){ { &partitioners[partitioner], part }, partitions, 0 };
}

static inline bool has(const struct attribute_cause *cause, const struct attribute_placement *at)
{
	for (size_t i = 0; i < cause->placement_n; i++)
		if (cause->placements[i].placer.partitioner == at->placer.partitioner &&
		    cause->placements[i].placer.part == at->placer.part &&
		    cause->placements[i].partitions == at->partitions)
			return true;
	return false;
}

#endif

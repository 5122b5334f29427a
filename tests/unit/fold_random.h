/*
 * fold_random: random small worlds, the same for the same seed.
 */
#ifndef TESTS_UNIT_FOLD_RANDOM_H
#define TESTS_UNIT_FOLD_RANDOM_H

#include "index_fixture.h"
#include "sql/placer.h"

enum { KEYS = 14 };

struct random {
	uint64_t state;
};

static uint64_t next(struct random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* [0, n) */
static inline int64_t below(struct random *r, int64_t n)
{
	return (int64_t)(next(r) % (uint64_t)n);
}

static const char *const key_names[KEYS] = {
	"", "a", "b", "user-1", "user-2", "user-3", "k4", "k5", "k6", "k7", "k8", "k9", "long-key-that-goes-on", "z"
};

static const char *word(struct random *r, const char *const *words, int64_t n)
{
	return words[below(r, n)];
}

#define WORD(r, ...) \
	word(r, (const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

/* The partition that a partitioner (sql/placer.h) gives a key; -1: none. */
static inline int32_t placed_by(const char *partitioner, const char *key, int32_t count)
{
	struct placer placer;

	assert_true(placer_parse(partitioner, &placer));
	return placer_partition(&placer, key, strlen(key), count);
}

/* Most records go home under one of the counts, some anywhere; times mostly rise. */
static inline void random_record(struct random *r, struct world *w, const int32_t *counts, int64_t now)
{
	struct world_topic *t = &w->topic[0];
	const char *key = below(r, 20) ? key_names[below(r, KEYS)] : NULL;
	int32_t home = key ? placed_by(w->pipeline.partitioner, key, counts[below(r, 2)]) : 0;
	int32_t partition = home >= 0 && below(r, 12) ? home : (int32_t)below(r, t->partitions);
	struct world_record *record = world_put_in(t, partition, key, now + below(r, 30));

	record->tombstone = below(r, 6) == 0;
	record->has_number = !record->tombstone && below(r, 15);
	record->number = record->has_number ? below(r, 100) - 50 : 0;
	record->aborted = below(r, 12) == 0 && strcmp(t->fact.role, "source") == 0;
	if (below(r, 10) == 0)
		t->part[partition].next += 1 + below(r, 3);
}

static inline void random_parts(struct random *r, struct world_topic *t)
{
	for (int32_t p = 0; p < t->partitions; p++) {
		struct world_part *part = &t->part[p];
		int64_t span = part->next - part->first;

		part->committed = below(r, 8) ? part->first + below(r, span + 1) : UNKNOWN;
		if (below(r, 2))
			part->committed = part->next;
		part->uncovered = below(r, 15) == 0;
		part->from = below(r, 5) ? UNKNOWN : part->first + below(r, span + 1);
		part->high_watermark = part->next + below(r, 4);
	}
}

static inline void random_fence(struct random *r, struct world *w, const char *key)
{
	struct world_topic *t = &w->topic[0];
	const struct world_record *record = &t->record[below(r, (int64_t)t->records)];

	if (below(r, 8) == 0) {
		world_absent(w, key);
		return;
	}
	for (int tries = 0; tries < 40 && !(record->key && strcmp(record->key, key) == 0); tries++)
		record = &t->record[below(r, (int64_t)t->records)];
	world_set(w, key, record->partition, record->offset + (below(r, 10) ? 0 : below(r, 5)));
	if (below(r, 20) == 0)
		world_set(w, key, below(r, t->partitions + 2), below(r, 60));
}

static inline void random_dlq(struct random *r, struct world *w)
{
	const struct world_topic *t = &w->topic[0];
	struct world_topic *dlq = world_add_topic(w, "orders-dlq", DLQ, 1);

	for (int i = 0; i < 6; i++) {
		const struct world_record *from = &t->record[below(r, (int64_t)t->records)];
		struct world_record *record = world_put_in(dlq, 0, from->key, 5000 + i);

		record->source_topic = below(r, 6) ? "orders" : "other";
		record->source_partition = from->partition;
		record->source_offset = from->offset;
	}
	if (below(r, 3) == 0)
		dlq->part[0].uncovered = true;
}

/* counts[0] is the present partition count, counts[1] an earlier one, perhaps the same. */
static inline struct world *random_world(struct random *r, int32_t *counts)
{
	struct world *w = world_new();
	struct world_topic *t = &w->topic[0];

	counts[0] = (int32_t)(1 + below(r, 6));
	counts[1] = (int32_t)(1 + below(r, counts[0]));
	t->partitions = t->fact.partitions = t->fact.partitions_at_start = counts[0];
	w->before[0] = counts[1];
	w->pipeline.tombstones = WORD(r, "apply", "ignore", "delete");
	w->pipeline.state = WORD(r, "opaque", "last", "count", "sum");
	w->pipeline.partitioner = WORD(r, "murmur2", "murmur2", "crc32", "fnv1a", "java_string_abs", "murmur2/windowed");
	w->pipeline.rejects = WORD(r, "none", "dlq");
	for (int32_t p = 0; p < counts[0]; p++)
		t->part[p].first = t->part[p].next = t->part[p].log_start = below(r, 3) ? 0 : below(r, 20);
	for (int64_t i = 0, n = 20 + below(r, 150); i < n; i++)
		random_record(r, w, counts, i * 10);
	random_parts(r, t);
	for (int i = 0; i < KEYS; i++)
		if (below(r, 12))
			random_fence(r, w, key_names[i]);
	if (strcmp(w->pipeline.rejects, "dlq") == 0)
		random_dlq(r, w);
	return w;
}

#endif

/*
 * resize_world: worlds whose topic has grown, and what of it the index says.
 */
#ifndef TESTS_UNIT_RESIZE_WORLD_H
#define TESTS_UNIT_RESIZE_WORLD_H

#include "check_said.h"

enum { AT = 200000 }; /* ms: when the first change is */

/* key_name() of each; name_all() first. */
static const char *names[2500];

static inline void name_all(void)
{
	for (int k = 0; k < 2500; k++)
		names[k] = key_name(k);
}

/* Records of keys, each in its home under a count, one a millisecond. */
struct phase {
	int32_t count;           /* 0 ends */
	int first, keys, records;
	int64_t ms;
};

static inline void put_phase(struct world *w, const struct phase *phase)
{
	for (int i = 0; i < phase->records; i++) {
		const char *key = names[phase->first + i % phase->keys];

		world_put_in(&w->topic[0], home_of(key, phase->count), key, phase->ms + i);
	}
}

static inline void size_topic(struct world *w, int32_t partitions)
{
	struct world_topic *t = &w->topic[0];

	t->partitions = t->fact.partitions = t->fact.partitions_at_start = partitions;
}

static inline struct world *world_of(int32_t partitions, const struct phase *phase)
{
	struct world *w = world_new();

	size_topic(w, partitions);
	for (; phase->count; phase++)
		put_phase(w, phase);
	world_settle(w);
	return w;
}

static inline char *resizes(struct fixture *fx)
{
	char *text = text_of(fx, "SELECT coalesce(group_concat(from_count || '>' || to_count || ' ' || source, ', '), "
				 "'none') FROM (SELECT * FROM topic_resize ORDER BY from_count)");

	return text;
}

static inline void expect_resizes(struct fixture *fx, const char *want)
{
	char *got = resizes(fx);

	assert_string_equal(got, want);
	free(got);
}

#endif

/*
 * check_worlds: the worlds that the checks are tried on, each healthy or with a reason to leave something undecided.
 */
#ifndef TESTS_UNIT_CHECK_WORLDS_H
#define TESTS_UNIT_CHECK_WORLDS_H

#include "index_fixture.h"

/*
 * A to D: the first keys at home in partitions 0 to 3 of 4. M and N: two that move from partition 1 of 4 to 5 of 8; L
 * one that stays in 1. S: a key of partition 2 that no world has.
 */
static const char *A, *B, *C, *D, *L, *M, *N, *S;

static inline void name_keys(void)
{
	A = key_homed(0, 4, 0);
	B = key_homed(1, 4, 0);
	C = key_homed(2, 4, 0);
	D = key_homed(3, 4, 0);
	L = key_moved(1, 4, 1, 8, 0);
	M = key_moved(1, 4, 5, 8, 0);
	N = key_moved(1, 4, 5, 8, 1);
	S = key_homed(2, 4, 40);
}

static inline void five_rounds(struct world *w)
{
	for (int round = 0; round < 5; round++)
		for (int p = 0; p < 4; p++)
			for (int i = 0; i < 3; i++) {
				struct world_record *r = world_put(w, key_homed(p, 4, i), 1000 * round + 10 * p + i);

				r->has_number = true;
				r->number = 10 * round + i;
			}
}

/*
 * 4 partitions, 12 keys, 5 rounds of a record each; all applied and committed. Offsets of a partition's first key: 0,
 * 3, 6, 9, 12.
 */
static inline void plain(struct world *w)
{
	five_rounds(w);
	world_settle(w);
}

/* The key without bytes, at home in partition 1, has two records: 15, 16. */
static inline void empty_key(struct world *w)
{
	plain(w);
	world_put(w, "", 5000);
	world_put(w, "", 6000);
	world_settle(w);
}

/* Indexing began at 100 in each partition. */
static inline void trimmed(struct world *w)
{
	for (int p = 0; p < 4; p++)
		w->topic[0].part[p] = (struct world_part){ .first = 100,
							   .next = 100,
							   .log_start = 100,
							   .last_stable = UNKNOWN,
							   .high_watermark = UNKNOWN,
							   .last_high_watermark = UNKNOWN,
							   .committed = UNKNOWN,
							   .from = UNKNOWN };
	plain(w);
}

static inline void no_commit(struct world *w)
{
	plain(w);
	w->topic[0].part[2].committed = UNKNOWN;
}

static inline void half_committed(struct world *w)
{
	plain(w);
	for (int p = 0; p < 4; p++)
		w->topic[0].part[p].committed = 6;
}

/* An open transaction in partition 1: the log goes on to 20. */
static inline void open_transaction(struct world *w)
{
	plain(w);
	w->topic[0].part[1].high_watermark = 20;
}

/* Partition 0: an aborted record of A at 15, a marker at 16. */
static inline void aborted(struct world *w)
{
	five_rounds(w);
	world_put(w, A, 9000)->aborted = true;
	world_skip(w, 0);
	world_settle(w);
}

static inline void expires_early(struct world *w)
{
	w->pipeline.expires_ms = 900000;
	plain(w);
}

static inline void expires_late(struct world *w)
{
	w->pipeline.expires_ms = 1000000;
	plain(w);
}

static inline void behind(struct world *w)
{
	w->pipeline.replica = "the replica did not reach 1204 within 30 s";
	plain(w);
}

static inline void silent(struct world *w)
{
	w->pipeline.rejects = "silent";
	plain(w);
	world_put(w, S, 5000); /* one record only */
	world_settle(w);
}

/* Record 12 of partition 0, A's newest, is in the DLQ. */
static inline void with_dlq(struct world *w)
{
	struct world_topic *dlq;
	struct world_record *r;

	w->pipeline.rejects = "dlq";
	plain(w);
	dlq = world_add_topic(w, "orders-dlq", DLQ, 1);
	r = world_put_in(dlq, 0, A, 9000);
	r->source_topic = "orders";
	r->source_partition = 0;
	r->source_offset = 12;
	world_set(w, A, 0, 9);
}

static inline void with_trimmed_dlq(struct world *w)
{
	with_dlq(w);
	w->topic[1].part[0].first = w->topic[1].part[0].log_start = 0;
	w->topic[1].part[0].gap_to = 1;
}

static inline void with_unnamed_dlq(struct world *w)
{
	with_dlq(w);
	world_put_in(&w->topic[1], 0, "x", 9500);
}

static inline void broken_mapping(struct world *w)
{
	w->pipeline.mapping = "broken";
	plain(w);
	for (size_t i = 0; i < w->fences; i++)
		world_absent(w, w->fence[i].key);
}

static inline void not_replayed(struct world *w)
{
	plain(w);
	w->topic[0].part[3].uncovered = true;
}

static inline void fresh_group(struct world *w)
{
	for (int p = 0; p < 4; p++)
		w->topic[0].part[p].from = 10;
	plain(w);
	w->fences = 0;
	for (int p = 0; p < 4; p++) {
		world_absent(w, key_homed(p, 4, 3)); /* asked for, nowhere in the history */
		world_set(w, key_homed(p, 4, 0), p, 12);
		world_set(w, key_homed(p, 4, 1), p, 13);
		world_set(w, key_homed(p, 4, 2), p, 14);
	}
}

/* Deletes: A is deleted at 15, B deleted at 15 and there again with 16. */
static inline void deletes(struct world *w)
{
	w->pipeline.tombstones = "delete";
	five_rounds(w);
	world_put(w, A, 6000)->tombstone = true;
	world_put(w, B, 6000)->tombstone = true;
	world_put(w, B, 7000);
	world_settle(w);
}

static inline void deletes_behind(struct world *w)
{
	w->pipeline.replica = "the replica did not reach 1204 within 30 s";
	deletes(w);
}

static inline void deletes_compacted(struct world *w)
{
	w->topic[0].compacted = true;
	w->topic[0].fact.cleanup_policy = "compact";
	deletes(w);
	world_skip(w, 2);
	world_put(w, key_homed(2, 4, 1), 8000);
	world_settle(w);
}

static inline void ignores(struct world *w)
{
	w->pipeline.tombstones = "ignore";
	five_rounds(w);
	world_put(w, A, 6000)->tombstone = true;
	world_settle(w);
}

static inline void last(struct world *w)
{
	w->pipeline.state = "last";
	plain(w);
}

static inline void last_with_tombstone(struct world *w)
{
	w->pipeline.state = "last";
	five_rounds(w);
	world_put(w, A, 6000)->tombstone = true;
	world_settle(w);
}

static inline void count(struct world *w)
{
	w->pipeline.state = "count";
	plain(w);
}

static inline void count_deleted(struct world *w)
{
	w->pipeline.state = "count";
	deletes(w);
}

static inline void count_trimmed(struct world *w)
{
	w->pipeline.state = "count";
	trimmed(w);
}

static inline void sum(struct world *w)
{
	w->pipeline.state = "sum";
	plain(w);
}

static inline void sum_of_words(struct world *w)
{
	sum(w);
	w->topic[0].record[0].has_number = false;
}

static inline void expiring(struct world *w)
{
	plain(w);
	w->topic[0].fact.retention_ms = 2000000;
	for (size_t i = 0; i < w->fences; i++)
		w->fence[i].fact.ttl_ms = 1500000;
}

static inline void kept_for_ever(struct world *w)
{
	expiring(w);
	w->topic[0].fact.retention_ms = -1;
}

static inline void retention_unknown(struct world *w)
{
	expiring(w);
	w->topic[0].fact.cleanup_policy = NULL;
}

/* 4 partitions until now, and L, M and N in partition 1: offsets 0 L, 1 M, 2 N, 3 M. */
static inline void before_resize(struct world *w)
{
	struct world_topic *t = &w->topic[0];

	world_put_in(t, 1, L, 100);
	world_put_in(t, 1, M, 200);
	world_put_in(t, 1, N, 300);
	world_put_in(t, 1, M, 400);
	world_settle(w);
}

static inline void grow(struct world *w)
{
	struct world_topic *t = &w->topic[0];

	t->partitions = t->fact.partitions = t->fact.partitions_at_start = 8;
}

/* 8 partitions; M has moved (5@0, 5@1), N waits in partition 1. */
static inline void resized(struct world *w)
{
	before_resize(w);
	grow(w);
	w->before[0] = 4;
	world_put_in(&w->topic[0], 5, M, 500);
	world_put_in(&w->topic[0], 5, M, 600);
	world_settle(w);
}

static inline void resized_with_dlq(struct world *w)
{
	w->pipeline.rejects = "dlq";
	resized(w);
	world_add_topic(w, "orders-dlq", DLQ, 1);
}

static inline void resized_deleting(struct world *w)
{
	w->pipeline.tombstones = "delete";
	resized(w);
}

/* M was deleted in partition 1 before it moved, N has its newest record there and then a tombstone at 5. */
static inline void resized_deleted(struct world *w)
{
	struct world_topic *t = &w->topic[0];

	w->pipeline.tombstones = "delete";
	before_resize(w);
	world_put_in(t, 1, M, 420)->tombstone = true;
	world_put_in(t, 1, N, 440)->tombstone = true;
	grow(w);
	w->before[0] = 4;
	world_put_in(t, 5, M, 500);
	world_put_in(t, 5, M, 600);
	world_settle(w);
}

static inline void before_resize_deleting(struct world *w)
{
	w->pipeline.tombstones = "delete";
	before_resize(w);
}

static inline void before_resize_compacted(struct world *w)
{
	w->topic[0].compacted = true;
	w->topic[0].fact.cleanup_policy = "compact";
	before_resize_deleting(w);
}

/* Records of partition 1 above N's may be gone. */
static inline void resized_compacted(struct world *w)
{
	w->topic[0].compacted = true;
	w->topic[0].fact.cleanup_policy = "compact";
	w->pipeline.tombstones = "delete";
	resized(w);
	world_skip(w, 1);
	world_put_in(&w->topic[0], 1, L, 700);
	world_settle(w);
}

/* Partition 1 had one more record at the last look. */
static inline void resized_with_tail(struct world *w)
{
	resized_deleting(w);
	w->topic[0].part[1].last_high_watermark = w->topic[0].part[1].next + 1;
}

/* Partition 2 had one more record at the last look. */
static inline void deletes_with_tail(struct world *w)
{
	deletes(w);
	w->topic[0].part[2].last_high_watermark = w->topic[0].part[2].next + 1;
}

/* The last look at partition 2 failed. */
static inline void deletes_without_last(struct world *w)
{
	deletes(w);
	w->topic[0].part[2].last_unread = true;
}

/* A key of 12 partitions that has not moved in one topic yet. */
static inline void copartitioned_resized(struct world *w)
{
	struct world_topic *t;

	resized(w);
	t = world_add_topic(w, "customers", COPARTITIONED, 8);
	world_put_in(t, 1, M, 100);
	world_put_in(t, 1, N, 100);
	w->topic[1].fact.main_threshold = INT64_MAX;
}

static inline void count_silent(struct world *w)
{
	w->pipeline.state = "count";
	silent(w);
}

static inline void count_resized(struct world *w)
{
	w->pipeline.state = "count";
	resized(w);
}

static inline void uncommitted(struct world *w)
{
	w->pipeline.isolation = "read_uncommitted";
	plain(w);
}

static inline void last_with_marker(struct world *w)
{
	w->pipeline.state = "last";
	aborted(w);
}

static inline void without_redis(struct world *w)
{
	w->pipeline.redis = NULL;
	plain(w);
	w->fences = 0;
}

static inline void compacted(struct world *w)
{
	w->topic[0].compacted = true;
	w->topic[0].fact.cleanup_policy = "compact";
	for (int p = 0; p < 4; p++)
		for (int i = 0; i < 3; i++) {
			world_skip(w, p);
			world_put(w, key_homed(p, 4, i), 100 * i);
		}
	world_settle(w);
}

static inline void copartitioned(struct world *w)
{
	struct world_topic *t;

	plain(w);
	t = world_add_topic(w, "customers", COPARTITIONED, 4);
	for (int p = 0; p < 4; p++)
		for (int i = 0; i < 3; i++)
			world_put_in(t, p, key_homed(p, 4, i), 100 * i);
}

static inline void epochs(struct world *w)
{
	w->pipeline.epoch_template = "epoch:{topic}:{partition}";
	plain(w);
	for (int p = 0; p < 4; p++)
		w->epoch[w->epochs++] = (struct world_epoch){ p, { .read_us = w->run_us, .present = 1, .value = 7 } };
}

static inline void idle_partition(struct world *w)
{
	for (int i = 0; i < 5; i++)
		world_put(w, A, i);
	world_settle(w);
	for (int p = 1; p < 4; p++)
		w->topic[0].part[p].committed = UNKNOWN;
}

static inline void long_ago(struct world *w)
{
	open_transaction(w);
	w->run_us -= INT64_C(900001) * 1000;
}

static inline void just_now(struct world *w)
{
	open_transaction(w);
	w->run_us -= INT64_C(899999) * 1000;
}

/* The broken world keeps what the healthy one has, so one more record for it to differ in. */
static inline void longer(struct world *w)
{
	plain(w);
	world_put(w, A, 9000);
	world_settle(w);
}

static inline void recreated(struct world *w)
{
	plain(w);
	w->topic[0].fresh = true;
}

#endif

/*
 * check_rare_worlds: worlds as in check_worlds.h, and what is broken in them, for what is rare.
 */
#ifndef TESTS_UNIT_CHECK_RARE_WORLDS_H
#define TESTS_UNIT_CHECK_RARE_WORLDS_H

#include "check_spoils.h"

static inline void expires_by_the_time(struct world *w)
{
	w->pipeline.expires_ms = WORLD_NOW_MS - 4020; /* C's newest record is of 4020 */
	plain(w);
}

static inline void expires_before_the_time(struct world *w)
{
	w->pipeline.expires_ms = WORLD_NOW_MS - 4021;
	plain(w);
}

/* The newest record of C is of the time of the sample, or a moment later: producers choose times. */
static inline void expires_of_now(struct world *w)
{
	w->pipeline.expires_ms = 1000;
	plain(w);
	world_put(w, C, WORLD_NOW_MS);
	world_settle(w);
}

static inline void expires_of_tomorrow(struct world *w)
{
	w->pipeline.expires_ms = 1000;
	plain(w);
	world_put(w, C, WORLD_NOW_MS + 1);
	world_settle(w);
}

static inline void resized_behind(struct world *w)
{
	w->pipeline.replica = "the replica did not reach 1204 within 30 s";
	resized(w);
}

static inline void resized_expiring(struct world *w)
{
	w->pipeline.expires_ms = WORLD_NOW_MS - 300; /* N's record is of 300 */
	resized(w);
}

static inline void resized_not_yet_expiring(struct world *w)
{
	w->pipeline.expires_ms = WORLD_NOW_MS - 299;
	resized(w);
}

static inline void resized_silent(struct world *w)
{
	w->pipeline.rejects = "silent";
	resized(w);
}

/* N has two records in its older partition. */
static inline void before_resize_twice(struct world *w)
{
	before_resize(w);
	world_put_in(&w->topic[0], 1, N, 450);
	world_settle(w);
}

static inline void resized_silent_twice(struct world *w)
{
	w->pipeline.rejects = "silent";
	before_resize_twice(w);
	grow(w);
	w->before[0] = 4;
	world_put_in(&w->topic[0], 5, M, 500);
	world_put_in(&w->topic[0], 5, M, 600);
	world_settle(w);
}

/* A later record of M stands in its older partition, from a producer that knew the older count. */
static inline void resized_and_back(struct world *w)
{
	resized(w);
	world_put_in(&w->topic[0], 1, M, 700);
	world_settle(w);
}

/* C's newest record stands in a partition that was not replayed to its end. */
static inline void home_not_replayed(struct world *w)
{
	plain(w);
	w->topic[0].part[2].uncovered = true;
}

static inline void deletes_silent(struct world *w)
{
	w->pipeline.rejects = "silent";
	deletes(w);
}

static inline void deletes_uncommitted(struct world *w)
{
	deletes(w);
	w->topic[0].part[0].committed = UNKNOWN;
}

/* The newest record of N's older partition is a tombstone, committed; N has none at home. */
static inline void resized_tombstone_at_home(struct world *w)
{
	struct world_topic *t = &w->topic[0];

	w->pipeline.tombstones = "delete";
	resized(w);
	world_put_in(t, 5, N, 700)->tombstone = true;
	world_settle(w);
}

static inline void last_of_strangers(struct world *w)
{
	w->pipeline.state = "last";
	plain(w);
}

static inline void count_of_dlq(struct world *w)
{
	w->pipeline.state = "count";
	with_dlq(w);
	world_fence_of(w, A)->fact.value_number = 4;
}

static inline void sum_of_dlq(struct world *w)
{
	w->pipeline.state = "sum";
	with_dlq(w);
	world_fence_of(w, A)->fact.value_number = 60; /* 0 + 10 + 20 + 30 */
}

/* Record 9 of A is in the DLQ; its newest, 12, was applied, and 4 of 5 with it. */
static inline void count_over_reject(struct world *w)
{
	count_of_dlq(w);
	w->topic[1].record[0].source_offset = 9;
	world_set(w, A, 0, 12)->fact.value_number = 4;
}

static inline void sum_over_reject(struct world *w)
{
	sum_of_dlq(w);
	w->topic[1].record[0].source_offset = 9;
	world_set(w, A, 0, 12)->fact.value_number = 70; /* 0 + 10 + 20 + 40 */
}

static inline void count_of_trimmed_dlq(struct world *w)
{
	w->pipeline.state = "count";
	with_trimmed_dlq(w);
	world_fence_of(w, A)->fact.value_number = 4;
}

/* A has a record above the commit, and rejects go to a DLQ. */
static inline void count_above_commit(struct world *w)
{
	w->pipeline.state = "count";
	w->pipeline.rejects = "dlq";
	plain(w);
	w->topic[0].part[0].committed = 12;
	world_add_topic(w, "orders-dlq", DLQ, 1);
}

static inline void count_above_commit_by_one(struct world *w)
{
	count_above_commit(w);
	w->topic[0].part[0].committed = 13;
}

/* A counts on, and a delete of it is above its fence. */
static inline void count_deleted_above(struct world *w)
{
	w->pipeline.state = "count";
	deletes(w);
	w->topic[0].part[0].committed = 13;
	world_set(w, A, 0, 12)->fact.value_number = 5;
}

static inline void count_with_tail(struct world *w)
{
	w->pipeline.state = "count";
	deletes(w);
	w->topic[0].part[2].last_high_watermark = w->topic[0].part[2].next + 1;
}

static inline void count_with_tombstone(struct world *w)
{
	w->pipeline.state = "count";
	deletes(w);
}

static inline void count_not_replayed(struct world *w)
{
	w->pipeline.state = "count";
	home_not_replayed(w);
}

static inline void expiring_exactly(struct world *w)
{
	plain(w);
	w->topic[0].fact.retention_ms = WORLD_NOW_MS + 500 - 4000; /* A's newest record is of 4000 */
}

static inline void expiring_with_lag(struct world *w)
{
	expiring_exactly(w);
	w->topic[0].part[0].committed = 14; /* a record of 4002 waits since */
}

static inline void kept_not_at_all(struct world *w)
{
	plain(w);
	w->topic[0].fact.retention_ms = 0;
}

static inline void compacted_only(struct world *w)
{
	plain(w);
	w->topic[0].fact.cleanup_policy = "compact";
}

/* Another key's record was aborted at 15. */
static inline void aborted_of_another(struct world *w)
{
	five_rounds(w);
	world_put_in(&w->topic[0], 0, key_homed(0, 4, 1), 9000)->aborted = true;
	world_skip(w, 0);
	world_settle(w);
}

static inline void aborted_uncommitted(struct world *w)
{
	w->pipeline.isolation = "read_uncommitted";
	aborted(w);
}

/* Partition 1, where N waits, was not read to its end. */
static inline void resized_not_replayed(struct world *w)
{
	resized(w);
	w->topic[0].part[1].uncovered = true;
}

/* N's record in its older partition is not committed. */
static inline void resized_uncommitted(struct world *w)
{
	resized(w);
	w->topic[0].part[1].committed = 2;
}

/* N has one record that an earlier run saw, and one that came before the partitions did, or after. */
static inline void resized_unsure(struct world *w)
{
	before_resize(w);
	world_put_in(&w->topic[0], 1, N, 450);
	grow(w);
	w->before[0] = 4;
	world_settle(w);
}

/* The record of M in the older partition is of the time of its newest at home. */
static inline void resized_and_back_at_once(struct world *w)
{
	resized(w);
	world_put_in(&w->topic[0], 1, M, 600);
	world_settle(w);
}

static inline void resized_with_tail_applying(struct world *w)
{
	resized(w);
	w->topic[0].part[1].last_high_watermark = w->topic[0].part[1].next + 1;
}

static inline void resized_without_last(struct world *w)
{
	resized_deleting(w);
	w->topic[0].part[1].last_unread = true;
}

static inline void before_resize_of_tomorrow(struct world *w)
{
	before_resize(w);
	w->topic[0].record[2].ms = WORLD_NOW_MS + 1;
}

static inline void resized_of_tomorrow(struct world *w)
{
	resized(w);
	w->topic[0].record[2].ms = WORLD_NOW_MS + 1;
}

static inline void before_resize_deleted(struct world *w)
{
	before_resize_deleting(w);
	world_put_in(&w->topic[0], 1, M, 420)->tombstone = true;
	world_put_in(&w->topic[0], 1, N, 440)->tombstone = true;
	world_settle(w);
}

/* All that may be gone of partition 2 is below C's newest record. */
static inline void deletes_compacted_below(struct world *w)
{
	w->topic[0].compacted = true;
	w->topic[0].fact.cleanup_policy = "compact";
	deletes(w);
	world_skip(w, 2);
	world_put(w, C, 8000);
	world_settle(w);
}

/* And of partition 1 below N's. */
static inline void before_resize_hole(struct world *w)
{
	before_resize_compacted(w);
	world_skip(w, 1);
	world_put_in(&w->topic[0], 1, N, 450);
	world_settle(w);
}

static inline void resized_hole(struct world *w)
{
	before_resize_hole(w);
	grow(w);
	w->before[0] = 4;
	world_settle(w);
}

static inline void count_without_last(struct world *w)
{
	w->pipeline.state = "count";
	deletes(w);
	w->topic[0].part[2].last_unread = true;
}

static inline void count_with_marker(struct world *w)
{
	w->pipeline.state = "count";
	aborted(w);
}

/* --- what is broken in them ---------------------------------------------------------------------------------- */

static inline void ttl_of(struct world *w, int64_t ttl, int64_t field_ttl)
{
	world_fence_of(w, A)->fact.ttl_ms = ttl;
	world_fence_of(w, A)->fact.field_ttl_ms = field_ttl;
}
static inline void ttl_499(struct world *w) { ttl_of(w, 499, -1); }
static inline void ttl_500(struct world *w) { ttl_of(w, 500, -1); }
static inline void ttl_none_but_of_a_field(struct world *w) { ttl_of(w, -1, 499); }
static inline void ttl_longer_than_a_fields(struct world *w) { ttl_of(w, 900000000, 499); }
static inline void ttl_shorter_than_a_fields(struct world *w) { ttl_of(w, 499, 900000000); }
static inline void ttl_at_its_end(struct world *w) { ttl_of(w, 0, 0); }
static inline void field_ttl_at_its_end(struct world *w) { ttl_of(w, -1, 0); }
static inline void ttl_at_its_end_alone(struct world *w) { ttl_of(w, 0, -1); }
static inline void field_ttl_at_its_end_beside(struct world *w) { ttl_of(w, 900000000, 0); }
static inline void ttl_beside_the_lag(struct world *w) { ttl_of(w, 500 + 1000, -1); }
static inline void stranger_with_ttl(struct world *w) { world_set(w, S, 2, 3)->fact.ttl_ms = 10; }
static inline void fence_late_in_next_partition(struct world *w) { world_set(w, D, 4, 3)->fact.sampled_us = w->run_us + 150; }
static inline void fence_in_next_partition_at_once(struct world *w)
{
	world_set(w, D, 4, 3)->fact.sampled_us = w->run_us + 110;
}
static inline void fence_late_unstable(struct world *w) { world_set(w, A, 1, 17)->fact.sampled_us = w->run_us + 150; }
static inline void fence_late_elsewhere(struct world *w) { world_set(w, A, 1, 13)->fact.sampled_us = w->run_us + 150; }
static inline void stray_unstable(struct world *w) { world_set(w, S, 1, 17); }
static inline void stray_not_replayed(struct world *w)
{
	world_set(w, S, 3, 14);
	world_absent(w, D);
	w->topic[0].part[3].next = 10;
	w->topic[0].part[3].high_watermark = 15;
}
static inline void waiting_fence_first(struct world *w) { world_set(w, N, 1, 2); }
static inline void waiting_fence_at_home(struct world *w) { world_set(w, N, 5, 0); }
static inline void fence_at_9(struct world *w) { world_set(w, A, 0, 9); }
static inline void fence_off_tombstone(struct world *w) { world_set(w, A, 1, 13); }
static inline void fence_at_tombstone(struct world *w) { world_set(w, A, 0, 15); }
static inline void a_counts(struct world *w, int64_t number) { world_fence_of(w, A)->fact.value_number = number; }
static inline void a_counts_5(struct world *w) { a_counts(w, 5); }
static inline void a_counts_6(struct world *w) { a_counts(w, 6); }
static inline void a_counts_3(struct world *w) { a_counts(w, 3); }
static inline void a_counts_nothing(struct world *w) { a_counts(w, UNKNOWN); }
static inline void a_counts_100(struct world *w) { a_counts(w, 100); }
static inline void c_counts_late(struct world *w)
{
	world_fence_of(w, C)->fact.value_number = 4;
	world_fence_of(w, C)->fact.sampled_us = w->run_us + 150;
}
static inline void c_counts_before_the_tail(struct world *w) { world_fence_of(w, C)->fact.value_number = 4; }
static inline void value_beside_a_stranger(struct world *w) { world_set(w, B, 1, 13)->fact.value_hash++; }

#endif

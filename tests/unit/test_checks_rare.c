/*
 * The checks on fences where it is rare: exact borders, faults that meet a doubt, and the doubts of keys that wait in an
 * older partition. One table, as in test_checks.c.
 */
#include "check_table.h"

/* --- worlds ------------------------------------------------------------------------------------------------------ */

static void expires_by_the_time(struct world *w)
{
	w->pipeline.expires_ms = WORLD_NOW_MS - 4020; /* C's newest record is of 4020 */
	plain(w);
}

static void expires_before_the_time(struct world *w)
{
	w->pipeline.expires_ms = WORLD_NOW_MS - 4021;
	plain(w);
}

/* The newest record of C is of the time of the sample, or a moment later: producers choose times. */
static void expires_of_now(struct world *w)
{
	w->pipeline.expires_ms = 1000;
	plain(w);
	world_put(w, C, WORLD_NOW_MS);
	world_settle(w);
}

static void expires_of_tomorrow(struct world *w)
{
	w->pipeline.expires_ms = 1000;
	plain(w);
	world_put(w, C, WORLD_NOW_MS + 1);
	world_settle(w);
}

static void resized_behind(struct world *w)
{
	w->pipeline.replica = "the replica did not reach 1204 within 30 s";
	resized(w);
}

static void resized_expiring(struct world *w)
{
	w->pipeline.expires_ms = WORLD_NOW_MS - 300; /* N's record is of 300 */
	resized(w);
}

static void resized_not_yet_expiring(struct world *w)
{
	w->pipeline.expires_ms = WORLD_NOW_MS - 299;
	resized(w);
}

static void resized_silent(struct world *w)
{
	w->pipeline.rejects = "silent";
	resized(w);
}

/* N has two records in its older partition. */
static void before_resize_twice(struct world *w)
{
	before_resize(w);
	world_put_in(&w->topic[0], 1, N, 450);
	world_settle(w);
}

static void resized_silent_twice(struct world *w)
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
static void resized_and_back(struct world *w)
{
	resized(w);
	world_put_in(&w->topic[0], 1, M, 700);
	world_settle(w);
}

/* C's newest record stands in a partition that was not replayed to its end. */
static void home_not_replayed(struct world *w)
{
	plain(w);
	w->topic[0].part[2].uncovered = true;
}

static void deletes_silent(struct world *w)
{
	w->pipeline.rejects = "silent";
	deletes(w);
}

static void deletes_uncommitted(struct world *w)
{
	deletes(w);
	w->topic[0].part[0].committed = UNKNOWN;
}

/* The newest record of N's older partition is a tombstone, committed; N has none at home. */
static void resized_tombstone_at_home(struct world *w)
{
	struct world_topic *t = &w->topic[0];

	w->pipeline.tombstones = "delete";
	resized(w);
	world_put_in(t, 5, N, 700)->tombstone = true;
	world_settle(w);
}

static void last_of_strangers(struct world *w)
{
	w->pipeline.state = "last";
	plain(w);
}

static void count_of_dlq(struct world *w)
{
	w->pipeline.state = "count";
	with_dlq(w);
	world_fence_of(w, A)->fact.value_number = 4;
}

static void sum_of_dlq(struct world *w)
{
	w->pipeline.state = "sum";
	with_dlq(w);
	world_fence_of(w, A)->fact.value_number = 60; /* 0 + 10 + 20 + 30 */
}

/* Record 9 of A is in the DLQ; its newest, 12, was applied, and 4 of 5 with it. */
static void count_over_reject(struct world *w)
{
	count_of_dlq(w);
	w->topic[1].record[0].source_offset = 9;
	world_set(w, A, 0, 12)->fact.value_number = 4;
}

static void sum_over_reject(struct world *w)
{
	sum_of_dlq(w);
	w->topic[1].record[0].source_offset = 9;
	world_set(w, A, 0, 12)->fact.value_number = 70; /* 0 + 10 + 20 + 40 */
}

static void count_of_trimmed_dlq(struct world *w)
{
	w->pipeline.state = "count";
	with_trimmed_dlq(w);
	world_fence_of(w, A)->fact.value_number = 4;
}

/* A has a record above the commit, and rejects go to a DLQ. */
static void count_above_commit(struct world *w)
{
	w->pipeline.state = "count";
	w->pipeline.rejects = "dlq";
	plain(w);
	w->topic[0].part[0].committed = 12;
	world_add_topic(w, "orders-dlq", DLQ, 1);
}

static void count_above_commit_by_one(struct world *w)
{
	count_above_commit(w);
	w->topic[0].part[0].committed = 13;
}

/* A counts on, and a delete of it is above its fence. */
static void count_deleted_above(struct world *w)
{
	w->pipeline.state = "count";
	deletes(w);
	w->topic[0].part[0].committed = 13;
	world_set(w, A, 0, 12)->fact.value_number = 5;
}

static void count_with_tail(struct world *w)
{
	w->pipeline.state = "count";
	deletes(w);
	w->topic[0].part[2].last_high_watermark = w->topic[0].part[2].next + 1;
}

static void count_with_tombstone(struct world *w)
{
	w->pipeline.state = "count";
	deletes(w);
}

static void count_not_replayed(struct world *w)
{
	w->pipeline.state = "count";
	home_not_replayed(w);
}

static void expiring_exactly(struct world *w)
{
	plain(w);
	w->topic[0].fact.retention_ms = WORLD_NOW_MS + 500 - 4000; /* A's newest record is of 4000 */
}

static void expiring_with_lag(struct world *w)
{
	expiring_exactly(w);
	w->topic[0].part[0].committed = 14; /* a record of 4002 waits since */
}

static void kept_not_at_all(struct world *w)
{
	plain(w);
	w->topic[0].fact.retention_ms = 0;
}

static void compacted_only(struct world *w)
{
	plain(w);
	w->topic[0].fact.cleanup_policy = "compact";
}

/* Another key's record was aborted at 15. */
static void aborted_of_another(struct world *w)
{
	five_rounds(w);
	world_put_in(&w->topic[0], 0, key_homed(0, 4, 1), 9000)->aborted = true;
	world_skip(w, 0);
	world_settle(w);
}

static void aborted_uncommitted(struct world *w)
{
	w->pipeline.isolation = "read_uncommitted";
	aborted(w);
}

/* --- what is broken in them ---------------------------------------------------------------------------------------- */

static void ttl_of(struct world *w, int64_t ttl, int64_t field_ttl)
{
	world_fence_of(w, A)->fact.ttl_ms = ttl;
	world_fence_of(w, A)->fact.field_ttl_ms = field_ttl;
}
static void ttl_499(struct world *w) { ttl_of(w, 499, -1); }
static void ttl_500(struct world *w) { ttl_of(w, 500, -1); }
static void ttl_none_but_of_a_field(struct world *w) { ttl_of(w, -1, 499); }
static void ttl_longer_than_a_fields(struct world *w) { ttl_of(w, 900000000, 499); }
static void ttl_shorter_than_a_fields(struct world *w) { ttl_of(w, 499, 900000000); }
static void ttl_at_its_end(struct world *w) { ttl_of(w, 0, 0); }
static void field_ttl_at_its_end(struct world *w) { ttl_of(w, -1, 0); }
static void ttl_beside_the_lag(struct world *w) { ttl_of(w, 500 + 1000, -1); }
static void stranger_with_ttl(struct world *w) { world_set(w, S, 2, 3)->fact.ttl_ms = 10; }
static void fence_late_in_next_partition(struct world *w) { world_set(w, D, 4, 3)->fact.sampled_us = w->run_us + 150; }
static void fence_in_next_partition_at_once(struct world *w) { world_set(w, D, 4, 3)->fact.sampled_us = w->run_us + 110; }
static void fence_late_unstable(struct world *w) { world_set(w, A, 1, 17)->fact.sampled_us = w->run_us + 150; }
static void fence_late_elsewhere(struct world *w) { world_set(w, A, 1, 13)->fact.sampled_us = w->run_us + 150; }
static void stray_unstable(struct world *w) { world_set(w, S, 1, 17); }
static void stray_not_replayed(struct world *w) { world_set(w, S, 3, 14); world_absent(w, D); w->topic[0].part[3].next = 10; w->topic[0].part[3].high_watermark = 15; }
static void waiting_fence_at_home(struct world *w) { world_set(w, N, 5, 0); }
static void fence_at_9(struct world *w) { world_set(w, A, 0, 9); }
static void fence_off_tombstone(struct world *w) { world_set(w, A, 1, 13); }
static void fence_at_tombstone(struct world *w) { world_set(w, A, 0, 15); }
static void a_counts(struct world *w, int64_t number) { world_fence_of(w, A)->fact.value_number = number; }
static void a_counts_5(struct world *w) { a_counts(w, 5); }
static void a_counts_6(struct world *w) { a_counts(w, 6); }
static void a_counts_3(struct world *w) { a_counts(w, 3); }
static void a_counts_nothing(struct world *w) { a_counts(w, UNKNOWN); }
static void a_counts_100(struct world *w) { a_counts(w, 100); }
static void c_counts_late(struct world *w)
{
	world_fence_of(w, C)->fact.value_number = 4;
	world_fence_of(w, C)->fact.sampled_us = w->run_us + 150;
}
static void c_counts_before_the_tail(struct world *w) { world_fence_of(w, C)->fact.value_number = 4; }
static void value_beside_a_stranger(struct world *w) { world_set(w, B, 1, 13)->fact.value_hash++; }

static const struct row rows[] = {
	{ "missing: expires by that time", NULL, expires_by_the_time, hash_gone,
	  "",
	  "fence-missing ? expired 1\n" },
	{ "missing: has expired before", NULL, expires_before_the_time, hash_gone,
	  "",
	  "fence-missing ? expired 1\n" },
	{ "missing: written as it was sampled", NULL, expires_of_now, hash_gone,
	  "",
	  "fence-missing error orders/2@15 $C: The key $C has no hash, and its record at 15 in "
	  "partition 2 was applied before 1970-01-01T00:16:40.000Z.\n" },
	{ "missing: written after it was sampled", NULL, expires_of_tomorrow, hash_gone,
	  "",
	  "fence-missing ? expired 1\n" },
	{ "missing: waiting key, replica behind", before_resize, resized_behind, waiting_fence_gone,
	  RESIZED,
	  "fence-missing ? replica-behind 1\n"
	  REBASED_M },
	{ "missing: waiting key, expired", before_resize, resized_expiring, waiting_fence_gone,
	  RESIZED,
	  "fence-missing ? expired 1\n"
	  REBASED_M },
	{ "missing: waiting key, not yet expired", before_resize, resized_not_yet_expiring, waiting_fence_gone,
	  RESIZED,
	  "fence-missing error orders/1@2 $N: The key $N has no hash, and its record at 2 in partition "
	  "1 was applied before 1970-01-01T00:16:40.000Z.\n"
	  REBASED_M },
	{ "missing: waiting key, silently rejected", before_resize, resized_silent, waiting_fence_gone,
	  RESIZED,
	  "fence-missing ? rejects-silent 1\n"
	  REBASED_M },
	{ "missing: waiting key, not both silently rejected", before_resize_twice, resized_silent_twice, waiting_fence_gone,
	  "fence-rebased info orders/1@4 $N: The fence of key $N waits at 4 in partition 1; its next "
	  "record will be in partition 5 and rebase it.\n"
	  REBASED_M,
	  "fence-missing error orders/1@4 $N: The key $N has no hash, and its record at 4 in partition "
	  "1 was applied before 1970-01-01T00:16:40.000Z.\n"
	  REBASED_M },
	{ "missing: home not replayed", NULL, home_not_replayed, hash_gone,
	  "fence-regressed ? not-replayed 3\n"
	  "copartition-break ? not-replayed 1\n",
	  "fence-missing ? not-replayed 1\n"
	  "fence-regressed ? not-replayed 2\n"
	  "copartition-break ? not-replayed 1\n" },
	{ "missing: deleted without commit", NULL, deletes_uncommitted, fence_at_9,
	  "fence-missing ? no-commit 1\n"
	  "fence-regressed ? no-commit 2\n"
	  "fence-undeleted ? no-commit 2\n"
	  "commit-missing info orders/0@- -: Partition 0 of orders has 16 records, and the group "
	  "orders-processor has no commit there.\n",
	  "fence-regressed ? no-commit 3\n"
	  "fence-undeleted ? no-commit 3\n"
	  "commit-missing info orders/0@- -: Partition 0 of orders has 16 records, and the group "
	  "orders-processor has no commit there.\n" },
	{ "missing: a tombstone waits at home", before_resize_deleting, resized_tombstone_at_home, waiting_fence_gone,
	  REBASED_M,
	  REBASED_M },
	{ "regressed: a tombstone waits at home", before_resize_deleting, resized_tombstone_at_home, waiting_fence_low,
	  REBASED_M,
	  "fence-regressed ? resized 1\n"
	  "fence-undeleted ? resized 1\n"
	  "fence-phantom error orders/1@0 $N: The fence of key $N stands at 0 in partition 1, where "
	  "the record of another key is.\n"
	  REBASED_M },
	{ "regressed: back to a later record", before_resize, resized_and_back, nothing,
	  "fence-regressed ? resized 1\n"
	  WAITS_N
	  "fence-rebased info orders/1@4 $M: The fence of key $M waits at 4 in partition 1; its next "
	  "record will be in partition 5 and rebase it.\n",
	  "fence-regressed ? resized 1\n"
	  WAITS_N
	  "fence-rebased info orders/1@4 $M: The fence of key $M waits at 4 in partition 1; its next "
	  "record will be in partition 5 and rebase it.\n" },
	{ "regressed: back to an earlier record", before_resize, resized_and_back, moved_fence_back,
	  "fence-regressed ? resized 1\n"
	  WAITS_N
	  "fence-rebased info orders/1@4 $M: The fence of key $M waits at 4 in partition 1; its next "
	  "record will be in partition 5 and rebase it.\n",
	  "fence-regressed error orders/5@1 $M: The fence of key $M stands at 3 in partition 1, and "
	  "must be at or above 1 in partition 5: 2 records are lost.\n"
	  WAITS_N },
	{ "regressed: waiting key, at home already", before_resize, resized, waiting_fence_at_home,
	  RESIZED,
	  "fence-phantom error orders/5@0 $N: The fence of key $N stands at 0 in partition 5, where "
	  "the record of another key is.\n"
	  REBASED_M },
	{ "regressed: waiting key, replica behind", before_resize, resized_behind, waiting_fence_low,
	  RESIZED,
	  "fence-regressed ? replica-behind 1\n"
	  "fence-phantom error orders/1@0 $N: The fence of key $N stands at 0 in partition 1, where "
	  "the record of another key is.\n"
	  REBASED_M },
	{ "regressed: waiting key, silently rejected", before_resize, resized_silent, waiting_fence_low,
	  RESIZED,
	  "fence-regressed ? rejects-silent 1\n"
	  "fence-phantom error orders/1@0 $N: The fence of key $N stands at 0 in partition 1, where "
	  "the record of another key is.\n"
	  REBASED_M },
	{ "regressed: waiting key, not both silently rejected", before_resize_twice, resized_silent_twice, waiting_fence_low,
	  "fence-rebased info orders/1@4 $N: The fence of key $N waits at 4 in partition 1; its next "
	  "record will be in partition 5 and rebase it.\n"
	  REBASED_M,
	  "fence-regressed error orders/1@4 $N: The fence of key $N stands at 0 in partition 1, and "
	  "must be at or above 4 in partition 1: 2 records are lost.\n"
	  REBASED_M },
	{ "regressed: partitions may have been added", NULL, open_transaction, fence_late_unstable,
	  "lso-stuck ? looked-once 1\n",
	  "fence-regressed ? partitions-unknown 1\n"
	  "fence-phantom ? unstable 1\n"
	  "fence-aborted ? unstable 1\n"
	  "fence-off-home ? partitions-unknown 1\n"
	  "lso-stuck ? looked-once 1\n" },
	{ "regressed: none were added below what was read", NULL, open_transaction, fence_late_elsewhere,
	  "lso-stuck ? looked-once 1\n",
	  "fence-regressed error orders/0@12 $A: The fence of key $A stands at 13 in partition 1, and "
	  "must be at or above 12 in partition 0: 5 records are lost.\n"
	  "lso-stuck ? looked-once 1\n" },
	{ "ahead: the partition after the last, late", NULL, plain, fence_late_in_next_partition,
	  "",
	  "fence-ahead ? partitions-unknown 1\n"
	  "fence-regressed ? partitions-unknown 1\n"
	  "fence-phantom ? not-indexed 1\n"
	  "fence-aborted ? not-indexed 1\n"
	  "fence-off-home ? partitions-unknown 1\n" },
	{ "ahead: the partition after the last, in time", NULL, plain, fence_in_next_partition_at_once,
	  "",
	  "fence-ahead error orders/4@3 $D: The fence of key $D stands in partition 4, and orders has "
	  "4 partitions.\n" },
	{ "orphan: on what is not stable", NULL, open_transaction, stray_unstable,
	  "lso-stuck ? looked-once 1\n",
	  "fence-orphan ? unstable 1\n"
	  "fence-phantom ? unstable 1\n"
	  "fence-aborted ? unstable 1\n"
	  "fence-off-home error orders/1@17 $S: The fence of key $S stands at 17 in partition 1, and "
	  "the key is at home in partition 2.\n"
	  "lso-stuck ? looked-once 1\n" },
	{ "orphan: on what was not replayed", NULL, not_replayed, stray_not_replayed,
	  "fence-regressed ? not-replayed 3\n"
	  "copartition-break ? not-replayed 1\n",
	  "fence-orphan ? not-replayed 1\n"
	  "fence-missing ? not-replayed 1\n"
	  "fence-regressed ? not-replayed 2\n"
	  "fence-phantom ? not-replayed 3\n"
	  "fence-aborted ? not-replayed 3\n"
	  "fence-off-home error orders/3@14 $S: The fence of key $S stands at 14 in partition 3, and "
	  "the key is at home in partition 2.\n"
	  "copartition-break ? not-replayed 1\n"
	  "lso-stuck ? looked-once 1\n" },
	{ "undeleted: below the newest record and the tombstone", NULL, deletes, fence_at_9,
	  "",
	  "fence-undeleted error orders/0@15 $A: The key $A was deleted by the tombstone at 15 in "
	  "partition 0, and has a hash with a fence at 9.\n" },
	{ "undeleted: silently rejected", NULL, deletes_silent, fence_at_9,
	  "",
	  "fence-undeleted ? rejects-silent 1\n" },
	{ "undeleted: in another partition", NULL, deletes, fence_off_tombstone,
	  "",
	  "fence-phantom error orders/1@13 $A: The fence of key $A stands at 13 in partition 1, where "
	  "the record of another key is.\n" },
	{ "undeleted: at the tombstone", NULL, deletes, fence_at_tombstone,
	  "",
	  "" },
	{ "undeleted: no commit", NULL, deletes_uncommitted, fence_at_older_tombstone,
	  "fence-missing ? no-commit 1\n"
	  "fence-regressed ? no-commit 2\n"
	  "fence-undeleted ? no-commit 2\n"
	  "commit-missing info orders/0@- -: Partition 0 of orders has 16 records, and the group "
	  "orders-processor has no commit there.\n",
	  "fence-regressed ? no-commit 3\n"
	  "fence-undeleted ? no-commit 3\n"
	  "commit-missing info orders/0@- -: Partition 0 of orders has 16 records, and the group "
	  "orders-processor has no commit there.\n" },
	{ "phantom: another key's aborted record", NULL, aborted_of_another, fence_on_aborted,
	  "",
	  "fence-phantom error orders/0@15 $A: The fence of key $A stands at 15 in partition 0, where "
	  "the record of another key is.\n" },
	{ "aborted: read uncommitted, and still there", NULL, aborted_uncommitted, fence_on_aborted,
	  "",
	  "" },
	{ "value: beside another key's record", NULL, last_of_strangers, value_beside_a_stranger,
	  "",
	  "fence-phantom error orders/1@13 $B: The fence of key $B stands at 13 in partition 1, where "
	  "the record of another key is.\n" },
	{ "count: one more, that the DLQ names", NULL, count_over_reject, a_counts_5,
	  "",
	  "fence-count ? rejected 1\n" },
	{ "count: two more, of which the DLQ names one", NULL, count_over_reject, a_counts_6,
	  "",
	  "fence-count error orders/0@12 $A: The count of key $A is 6, and the records up to its "
	  "fence, 12 in partition 0, give 4: more was applied than was written.\n" },
	{ "count: one less beside a reject", NULL, count_over_reject, a_counts_3,
	  "",
	  "fence-count error orders/0@12 $A: The count of key $A is 3, and the records up to its "
	  "fence, 12 in partition 0, give 4: updates were lost.\n" },
	{ "count: no number beside a reject", NULL, count_over_reject, a_counts_nothing,
	  "",
	  "fence-count error orders/0@12 $A: The stored count of key $A is no integer; the records up "
	  "to its fence, 12 in partition 0, give 4.\n" },
	{ "sum: beside a reject", NULL, sum_over_reject, a_counts_100,
	  "",
	  "fence-count ? rejected 1\n" },
	{ "count: the DLQ is incomplete", NULL, count_of_trimmed_dlq, a_counts_6,
	  "fence-count ? dlq-incomplete 12\n",
	  "fence-count ? dlq-incomplete 12\n" },
	{ "count: less above the commit", NULL, count_above_commit, a_counts_3,
	  "",
	  "fence-count ? above-commit 1\n" },
	{ "count: more above the commit", NULL, count_above_commit, a_counts_6,
	  "",
	  "fence-count error orders/0@12 $A: The count of key $A is 6, and the records up to its "
	  "fence, 12 in partition 0, give 5: more was applied than was written.\n" },
	{ "count: less below the commit", NULL, count_above_commit_by_one, a_counts_3,
	  "",
	  "fence-count error orders/0@12 $A: The count of key $A is 3, and the records up to its "
	  "fence, 12 in partition 0, give 5: updates were lost.\n" },
	{ "count: less below a delete", NULL, count_deleted_above, a_counts_3,
	  "",
	  "fence-count ? deleted-above 1\n" },
	{ "count: more below a delete", NULL, count_deleted_above, a_counts_6,
	  "",
	  "fence-count error orders/0@12 $A: The count of key $A is 6, and the records up to its "
	  "fence, 12 in partition 0, give 5: more was applied than was written.\n" },
	{ "count: less where a delete may have come since", NULL, count_with_tail, c_counts_late,
	  "",
	  "fence-count ? tail-unread 1\n" },
	{ "count: less before a delete could come", NULL, count_with_tail, c_counts_before_the_tail,
	  "",
	  "fence-count error orders/2@12 $C: The count of key $C is 4, and the records up to its "
	  "fence, 12 in partition 2, give 5: updates were lost.\n" },
	{ "count: at the delete itself", NULL, count_with_tombstone, fence_at_tombstone,
	  "",
	  "fence-count ? tombstone-at-fence 1\n" },
	{ "count: not replayed", NULL, count_not_replayed, number_more,
	  "fence-regressed ? not-replayed 3\n"
	  "fence-count ? not-replayed 3\n"
	  "copartition-break ? not-replayed 1\n",
	  "fence-regressed ? not-replayed 3\n"
	  "fence-count error orders/0@12 $A: The count of key $A is 6, and the records up to its "
	  "fence, 12 in partition 0, give 5: more was applied than was written.\n"
	  "fence-count ? not-replayed 3\n"
	  "copartition-break ? not-replayed 1\n" },
	{ "count: on another key's record", NULL, count, fence_on_other_record,
	  "",
	  "fence-phantom error orders/1@13 $B: The fence of key $B stands at 13 in partition 1, where "
	  "the record of another key is.\n" },
	{ "expiring: by one", NULL, expiring_exactly, ttl_499,
	  "",
	  "fence-expiring warning orders/0@12 $A: The fence of key $A expires at "
	  "1970-01-01T00:16:40.499Z; its newest record, of 1970-01-01T00:00:04.000Z, can be delivered "
	  "again until 1970-01-01T00:16:40.500Z.\n" },
	{ "expiring: exactly", NULL, expiring_exactly, ttl_500,
	  "",
	  "" },
	{ "expiring: only a field", NULL, expiring_exactly, ttl_none_but_of_a_field,
	  "",
	  "fence-expiring warning orders/0@12 $A: The fence of key $A expires at "
	  "1970-01-01T00:16:40.499Z; its newest record, of 1970-01-01T00:00:04.000Z, can be delivered "
	  "again until 1970-01-01T00:16:40.500Z.\n" },
	{ "expiring: a field before the key", NULL, expiring_exactly, ttl_longer_than_a_fields,
	  "",
	  "fence-expiring warning orders/0@12 $A: The fence of key $A expires at "
	  "1970-01-01T00:16:40.499Z; its newest record, of 1970-01-01T00:00:04.000Z, can be delivered "
	  "again until 1970-01-01T00:16:40.500Z.\n" },
	{ "expiring: the key before a field", NULL, expiring_exactly, ttl_shorter_than_a_fields,
	  "",
	  "fence-expiring warning orders/0@12 $A: The fence of key $A expires at "
	  "1970-01-01T00:16:40.499Z; its newest record, of 1970-01-01T00:00:04.000Z, can be delivered "
	  "again until 1970-01-01T00:16:40.500Z.\n" },
	{ "expiring: at once", NULL, expiring_exactly, ttl_at_its_end,
	  "",
	  "fence-expiring warning orders/0@12 $A: The fence of key $A expires at "
	  "1970-01-01T00:16:40.000Z; its newest record, of 1970-01-01T00:00:04.000Z, can be delivered "
	  "again until 1970-01-01T00:16:40.500Z.\n" },
	{ "expiring: a field at once", NULL, expiring_exactly, field_ttl_at_its_end,
	  "",
	  "fence-expiring warning orders/0@12 $A: The fence of key $A expires at "
	  "1970-01-01T00:16:40.000Z; its newest record, of 1970-01-01T00:00:04.000Z, can be delivered "
	  "again until 1970-01-01T00:16:40.500Z.\n" },
	{ "expiring: the worker lags", NULL, expiring_with_lag, ttl_beside_the_lag,
	  "",
	  "fence-expiring warning orders/0@12 $A: The fence of key $A expires at "
	  "1970-01-01T00:16:41.500Z; its newest record, of 1970-01-01T00:00:04.000Z, can be delivered "
	  "again until 1970-01-01T00:33:16.498Z.\n" },
	{ "expiring: without history", NULL, plain, stranger_with_ttl,
	  "",
	  "fence-orphan warning orders/2@3 $S: The key $S has a hash with a fence at 3 in partition 2, "
	  "and no record anywhere in the history of orders.\n"
	  "fence-expiring ? no-history 1\n" },
	{ "expiring: kept not at all", NULL, kept_not_at_all, ttl_499,
	  "",
	  "" },
	{ "expiring: compacted alone", NULL, compacted_only, ttl_499,
	  "",
	  "fence-expiring ? retention-infinite 1\n" },
	{ "sum: no reject below the fence", NULL, sum_of_dlq, a_counts_100,
	  "",
	  "fence-count error orders/0@9 $A: The sum of key $A is 100, and the records up to its fence, "
	  "9 in partition 0, give 60: more was applied than was written.\n" },
	{ "count: a reject above the fence", NULL, count_of_dlq, a_counts_5,
	  "",
	  "fence-count error orders/0@9 $A: The count of key $A is 5, and the records up to its fence, "
	  "9 in partition 0, give 4: more was applied than was written.\n" },
};

static void test_table(void **state)
{
	(void)state;
	expect_all(rows, sizeof(rows) / sizeof(*rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

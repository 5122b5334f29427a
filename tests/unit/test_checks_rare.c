/*
 * The checks on fences where it is rare: exact borders, faults that meet a doubt, and the doubts of keys that wait in
 * an older partition. One table, as in test_checks.c.
 */
#include "check_rare_worlds.h"
#include "check_table.h"

#define MISSING_N                                                                                                     \
	"fence-missing error orders/1@2 $N: The key $N has no hash, and its record at 2 in partition 1 was applied "  \
	"before 1970-01-01T00:16:40.000Z.\n"
#define WAITS_N_AT_4                                                                                                   \
	"fence-rebased info orders/1@4 $N: The fence of key $N waits at 4 in partition 1; its next record will be in " \
	"partition 5 and rebase it.\n"
#define PHANTOM_N                                                                                                     \
	"fence-phantom error orders/1@0 $N: The fence of key $N stands at 0 in partition 1, where the record of "     \
	"another key is.\n"
/* Times of the clock. */
#define EXPIRES_A(at, until)                                                                                           \
	"fence-expiring warning orders/0@12 $A: The fence of key $A expires at 1970-01-01T00:" at "; its newest "      \
	"record, of 1970-01-01T00:00:04.000Z, can be delivered again until 1970-01-01T00:" until ".\n"

static const struct row rows[] = {
	{ "missing: expires by that time", NULL, expires_by_the_time, hash_gone, "",
	  "fence-missing ? expired 1\n" },
	{ "missing: has expired before", NULL, expires_before_the_time, hash_gone, "",
	  "fence-missing ? expired 1\n" },
	{ "missing: written as it was sampled", NULL, expires_of_now, hash_gone, "",
	  "fence-missing error orders/2@15 $C: The key $C has no hash, and its record at 15 in "
	  "partition 2 was applied before 1970-01-01T00:16:40.000Z.\n" },
	{ "missing: written after it was sampled", NULL, expires_of_tomorrow, hash_gone, "",
	  "fence-missing ? expired 1\n" },
	{ "missing: waiting key, replica behind", before_resize, resized_behind, waiting_fence_gone, RESIZED,
	  "fence-missing ? replica-behind 1\n" REBASED_M },
	{ "missing: waiting key, expired", before_resize, resized_expiring, waiting_fence_gone, RESIZED,
	  "fence-missing ? expired 1\n" REBASED_M },
	{ "missing: waiting key, not yet expired", before_resize, resized_not_yet_expiring, waiting_fence_gone,
	  RESIZED,
	  MISSING_N REBASED_M },
	{ "missing: waiting key, silently rejected", before_resize, resized_silent, waiting_fence_gone, RESIZED,
	  "fence-missing ? rejects-silent 1\n" REBASED_M },
	{ "missing: waiting key, not both silently rejected", before_resize_twice, resized_silent_twice, waiting_fence_gone,
	  WAITS_N_AT_4 REBASED_M,
	  "fence-missing error orders/1@4 $N: The key $N has no hash, and its record at 4 in partition "
	  "1 was applied before 1970-01-01T00:16:40.000Z.\n" REBASED_M },
	{ "missing: home not replayed", NULL, home_not_replayed, hash_gone,
	  "fence-regressed ? not-replayed 3\n"
	  "copartition-break ? not-replayed 1\nkey-hot ? not-replayed 1\n"
	  "topic-resized ? not-replayed 1\n",
	  "fence-missing ? not-replayed 1\n"
	  "fence-regressed ? not-replayed 2\n"
	  "copartition-break ? not-replayed 1\nkey-hot ? not-replayed 1\n"
	  "topic-resized ? not-replayed 1\n" },
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
	  "fence-undeleted ? resized 1\n" PHANTOM_N REBASED_M },
	{ "regressed: back to a later record", before_resize, resized_and_back, nothing,
	  "fence-regressed ? resized 1\n" WAITS_N
	  "fence-rebased info orders/1@4 $M: The fence of key $M waits at 4 in partition 1; its next "
	  "record will be in partition 5 and rebase it.\n",
	  "fence-regressed ? resized 1\n" WAITS_N
	  "fence-rebased info orders/1@4 $M: The fence of key $M waits at 4 in partition 1; its next "
	  "record will be in partition 5 and rebase it.\n" },
	{ "regressed: back to an earlier record", before_resize, resized_and_back, moved_fence_back,
	  "fence-regressed ? resized 1\n" WAITS_N
	  "fence-rebased info orders/1@4 $M: The fence of key $M waits at 4 in partition 1; its next "
	  "record will be in partition 5 and rebase it.\n",
	  "fence-regressed error orders/5@1 $M: The fence of key $M stands at 3 in partition 1, and "
	  "must be at or above 1 in partition 5: 2 records are lost.\n" WAITS_N },
	{ "regressed: waiting key, at home already", before_resize, resized, waiting_fence_at_home, RESIZED,
	  "fence-phantom error orders/5@0 $N: The fence of key $N stands at 0 in partition 5, where "
	  "the record of another key is.\n" REBASED_M },
	{ "regressed: waiting key, replica behind", before_resize, resized_behind, waiting_fence_low, RESIZED,
	  "fence-regressed ? replica-behind 1\n" PHANTOM_N REBASED_M },
	{ "regressed: waiting key, silently rejected", before_resize, resized_silent, waiting_fence_low, RESIZED,
	  "fence-regressed ? rejects-silent 1\n" PHANTOM_N REBASED_M },
	{ "regressed: waiting key, not both silently rejected", before_resize_twice, resized_silent_twice, waiting_fence_low,
	  WAITS_N_AT_4 REBASED_M,
	  "fence-regressed error orders/1@4 $N: The fence of key $N stands at 0 in partition 1, and "
	  "must be at or above 4 in partition 1: 2 records are lost.\n" REBASED_M },
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
	{ "ahead: the partition after the last, late", NULL, plain, fence_late_in_next_partition, "",
	  "fence-ahead ? partitions-unknown 1\n"
	  "fence-regressed ? partitions-unknown 1\n"
	  "fence-phantom ? not-indexed 1\n"
	  "fence-aborted ? not-indexed 1\n"
	  "fence-off-home ? partitions-unknown 1\n" },
	{ "ahead: the partition after the last, in time", NULL, plain, fence_in_next_partition_at_once, "",
	  "fence-ahead error orders/4@3 $D: The fence of key $D stands in partition 4, and orders has "
	  "4 partitions.\n" },
	{ "orphan: on what is not stable", NULL, open_transaction, stray_unstable, "lso-stuck ? looked-once 1\n",
	  "fence-orphan ? unstable 1\n"
	  "fence-phantom ? unstable 1\n"
	  "fence-aborted ? unstable 1\n"
	  "fence-off-home error orders/1@17 $S: The fence of key $S stands at 17 in partition 1, and "
	  "the key is at home in partition 2.\n"
	  "lso-stuck ? looked-once 1\n" },
	{ "orphan: on what was not replayed", NULL, not_replayed, stray_not_replayed,
	  "fence-regressed ? not-replayed 3\n"
	  "copartition-break ? not-replayed 1\nkey-hot ? not-replayed 1\n"
	  "topic-resized ? not-replayed 1\n",
	  "fence-orphan ? not-replayed 1\n"
	  "fence-missing ? not-replayed 1\n"
	  "fence-regressed ? not-replayed 2\n"
	  "fence-phantom ? not-replayed 3\n"
	  "fence-aborted ? not-replayed 3\n"
	  "fence-off-home error orders/3@14 $S: The fence of key $S stands at 14 in partition 3, and "
	  "the key is at home in partition 2.\n"
	  "copartition-break ? not-replayed 1\nkey-hot ? not-replayed 1\n"
	  "topic-resized ? not-replayed 1\n"
	  "lso-stuck ? looked-once 1\n" },
	{ "undeleted: below the newest record and the tombstone", NULL, deletes, fence_at_9, "",
	  "fence-undeleted error orders/0@15 $A: The key $A was deleted by the tombstone at 15 in "
	  "partition 0, and has a hash with a fence at 9.\n" },
	{ "undeleted: silently rejected", NULL, deletes_silent, fence_at_9, "",
	  "fence-undeleted ? rejects-silent 1\n" },
	{ "undeleted: in another partition", NULL, deletes, fence_off_tombstone, "",
	  "fence-phantom error orders/1@13 $A: The fence of key $A stands at 13 in partition 1, where "
	  "the record of another key is.\n" },
	{ "undeleted: at the tombstone", NULL, deletes, fence_at_tombstone, "",
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
	{ "phantom: another key's aborted record", NULL, aborted_of_another, fence_on_aborted, "",
	  "fence-phantom error orders/0@15 $A: The fence of key $A stands at 15 in partition 0, where "
	  "the record of another key is.\n" },
	{ "aborted: read uncommitted, and still there", NULL, aborted_uncommitted, fence_on_aborted, "",
	  "" },
	{ "value: beside another key's record", NULL, last_of_strangers, value_beside_a_stranger, "",
	  "fence-phantom error orders/1@13 $B: The fence of key $B stands at 13 in partition 1, where "
	  "the record of another key is.\n" },
	{ "count: one more, that the DLQ names", NULL, count_over_reject, a_counts_5, "",
	  "fence-count ? rejected 1\n" },
	{ "count: two more, of which the DLQ names one", NULL, count_over_reject, a_counts_6, "",
	  "fence-count error orders/0@12 $A: The count of key $A is 6, and the records up to its "
	  "fence, 12 in partition 0, give 4: more was applied than was written.\n" },
	{ "count: one less beside a reject", NULL, count_over_reject, a_counts_3, "",
	  "fence-count error orders/0@12 $A: The count of key $A is 3, and the records up to its "
	  "fence, 12 in partition 0, give 4: updates were lost.\n" },
	{ "count: no number beside a reject", NULL, count_over_reject, a_counts_nothing, "",
	  "fence-count error orders/0@12 $A: The stored count of key $A is no integer; the records up "
	  "to its fence, 12 in partition 0, give 4.\n" },
	{ "sum: beside a reject", NULL, sum_over_reject, a_counts_100, "",
	  "fence-count ? rejected 1\n" },
	{ "count: the DLQ is incomplete", NULL, count_of_trimmed_dlq, a_counts_6,
	  "fence-count ? dlq-incomplete 12\n",
	  "fence-count ? dlq-incomplete 12\n" },
	{ "count: less above the commit", NULL, count_above_commit, a_counts_3, "",
	  "fence-count ? above-commit 1\n" },
	{ "count: more above the commit", NULL, count_above_commit, a_counts_6, "",
	  "fence-count error orders/0@12 $A: The count of key $A is 6, and the records up to its "
	  "fence, 12 in partition 0, give 5: more was applied than was written.\n" },
	{ "count: less below the commit", NULL, count_above_commit_by_one, a_counts_3, "",
	  "fence-count error orders/0@12 $A: The count of key $A is 3, and the records up to its "
	  "fence, 12 in partition 0, give 5: updates were lost.\n" },
	{ "count: less below a delete", NULL, count_deleted_above, a_counts_3, "",
	  "fence-count ? deleted-above 1\n" },
	{ "count: more below a delete", NULL, count_deleted_above, a_counts_6, "",
	  "fence-count error orders/0@12 $A: The count of key $A is 6, and the records up to its "
	  "fence, 12 in partition 0, give 5: more was applied than was written.\n" },
	{ "count: less where a delete may have come since", NULL, count_with_tail, c_counts_late, "",
	  "fence-count ? tail-unread 1\n" },
	{ "count: less before a delete could come", NULL, count_with_tail, c_counts_before_the_tail, "",
	  "fence-count error orders/2@12 $C: The count of key $C is 4, and the records up to its "
	  "fence, 12 in partition 2, give 5: updates were lost.\n" },
	{ "count: at the delete itself", NULL, count_with_tombstone, fence_at_tombstone, "",
	  "fence-count ? tombstone-at-fence 1\n" },
	{ "count: not replayed", NULL, count_not_replayed, number_more,
	  "fence-regressed ? not-replayed 3\n"
	  "fence-count ? not-replayed 3\n"
	  "copartition-break ? not-replayed 1\nkey-hot ? not-replayed 1\n"
	  "topic-resized ? not-replayed 1\n",
	  "fence-regressed ? not-replayed 3\n"
	  "fence-count error orders/0@12 $A: The count of key $A is 6, and the records up to its "
	  "fence, 12 in partition 0, give 5: more was applied than was written.\n"
	  "fence-count ? not-replayed 3\n"
	  "copartition-break ? not-replayed 1\nkey-hot ? not-replayed 1\n"
	  "topic-resized ? not-replayed 1\n" },
	{ "count: on another key's record", NULL, count, fence_on_other_record, "",
	  "fence-phantom error orders/1@13 $B: The fence of key $B stands at 13 in partition 1, where "
	  "the record of another key is.\n" },
	{ "expiring: by one", NULL, expiring_exactly, ttl_499, "",
	  EXPIRES_A("16:40.499Z", "16:40.500Z") },
	{ "expiring: exactly", NULL, expiring_exactly, ttl_500, "",
	  "" },
	{ "expiring: only a field", NULL, expiring_exactly, ttl_none_but_of_a_field, "",
	  EXPIRES_A("16:40.499Z", "16:40.500Z") },
	{ "expiring: a field before the key", NULL, expiring_exactly, ttl_longer_than_a_fields, "",
	  EXPIRES_A("16:40.499Z", "16:40.500Z") },
	{ "expiring: the key before a field", NULL, expiring_exactly, ttl_shorter_than_a_fields, "",
	  EXPIRES_A("16:40.499Z", "16:40.500Z") },
	{ "expiring: at once", NULL, expiring_exactly, ttl_at_its_end, "",
	  EXPIRES_A("16:40.000Z", "16:40.500Z") },
	{ "expiring: a field at once", NULL, expiring_exactly, field_ttl_at_its_end, "",
	  EXPIRES_A("16:40.000Z", "16:40.500Z") },
	{ "expiring: the worker lags", NULL, expiring_with_lag, ttl_beside_the_lag, "",
	  EXPIRES_A("16:41.500Z", "33:16.498Z") },
	{ "expiring: without history", NULL, plain, stranger_with_ttl, "",
	  "fence-orphan warning orders/2@3 $S: The key $S has a hash with a fence at 3 in partition 2, "
	  "and no record anywhere in the history of orders.\n"
	  "fence-expiring ? no-history 1\n" },
	{ "expiring: kept not at all", NULL, kept_not_at_all, ttl_499, "",
	  "" },
	{ "expiring: compacted alone", NULL, compacted_only, ttl_499, "",
	  "fence-expiring ? retention-infinite 1\n" },
	{ "sum: no reject below the fence", NULL, sum_of_dlq, a_counts_100, "",
	  "fence-count error orders/0@9 $A: The sum of key $A is 100, and the records up to its fence, "
	  "9 in partition 0, give 60: more was applied than was written.\n" },
	{ "count: a reject above the fence", NULL, count_of_dlq, a_counts_5, "",
	  "fence-count error orders/0@9 $A: The count of key $A is 5, and the records up to its fence, "
	  "9 in partition 0, give 4: more was applied than was written.\n" },
	{ "missing: waiting key, not replayed", before_resize, resized_not_replayed, waiting_fence_gone,
	  "fence-regressed ? not-replayed 2\n" RESIZED
	  "copartition-break ? not-replayed 1\nkey-hot ? not-replayed 1\n"
	  "topic-resized ? not-replayed 1\n"
	  "history-rewritten ? not-replayed 1\n",
	  "fence-missing ? not-replayed 1\n"
	  "fence-regressed ? not-replayed 1\n" REBASED_M
	  "copartition-break ? not-replayed 1\nkey-hot ? not-replayed 1\n"
	  "topic-resized ? not-replayed 1\n"
	  "history-rewritten ? not-replayed 1\n" },
	{ "regressed: waiting key, not replayed", before_resize, resized_not_replayed, waiting_fence_low,
	  "fence-regressed ? not-replayed 2\n" RESIZED
	  "copartition-break ? not-replayed 1\nkey-hot ? not-replayed 1\n"
	  "topic-resized ? not-replayed 1\n"
	  "history-rewritten ? not-replayed 1\n",
	  "fence-regressed ? not-replayed 2\n" PHANTOM_N REBASED_M
	  "copartition-break ? not-replayed 1\nkey-hot ? not-replayed 1\n"
	  "topic-resized ? not-replayed 1\n"
	  "history-rewritten ? not-replayed 1\n" },
	{ "regressed: waiting key, nothing committed", before_resize, resized_uncommitted, nothing,
	  RESIZED
	  "commit-regressed warning orders/1@2 -: The group orders-processor has committed 2 in "
	  "partition 1 of orders, and had committed 4 in run 1.\n",
	  RESIZED
	  "commit-regressed warning orders/1@2 -: The group orders-processor has committed 2 in "
	  "partition 1 of orders, and had committed 4 in run 1.\n" },
	{ "regressed: waiting key, one of two is certain", before_resize, resized_unsure, waiting_fence_first,
	  "fence-rebased info orders/1@3 $M: The fence of key $M waits at 3 in partition 1; its next "
	  "record will be in partition 5 and rebase it.\n" WAITS_N_AT_4,
	  "fence-regressed ? resized 1\n" WAITS_N
	  "fence-rebased info orders/1@3 $M: The fence of key $M waits at 3 in partition 1; its next "
	  "record will be in partition 5 and rebase it.\n" },
	{ "regressed: back to a record of the same time", before_resize, resized_and_back_at_once, nothing,
	  "fence-regressed ? resized 1\n" WAITS_N
	  "fence-rebased info orders/1@4 $M: The fence of key $M waits at 4 in partition 1; its next "
	  "record will be in partition 5 and rebase it.\n",
	  "fence-regressed ? resized 1\n" WAITS_N
	  "fence-rebased info orders/1@4 $M: The fence of key $M waits at 4 in partition 1; its next "
	  "record will be in partition 5 and rebase it.\n" },
	{ "missing: waiting key that nothing deletes", before_resize, resized_with_tail_applying, waiting_fence_gone_late,
	  RESIZED,
	  MISSING_N REBASED_M },
	{ "missing: waiting key, asked late, and nothing came", before_resize_deleting, resized_deleting, waiting_fence_gone_late,
	  RESIZED,
	  MISSING_N REBASED_M },
	{ "missing: waiting key, the last watermark is not known", before_resize_deleting, resized_without_last, waiting_fence_gone_late,
	  "fence-ahead ? watermark-unknown 2\n" RESIZED,
	  "fence-ahead ? watermark-unknown 1\n"
	  "fence-missing ? tail-unread 1\n" REBASED_M },
	{ "missing: waiting key of tomorrow", before_resize_of_tomorrow, resized_of_tomorrow, waiting_fence_gone,
	  RESIZED,
	  MISSING_N REBASED_M },
	{ "regressed: waiting key, deleted since", before_resize_deleted, resized_deleted, waiting_fence_low,
	  "fence-rebased info orders/5@1 $M: The records of key $M stand in 2 legal partitions; by "
	  "their times it was rebased 0 times, and its fence is at home in partition 5.\n",
	  "fence-regressed ? resized 1\n" PHANTOM_N
	  "fence-rebased info orders/5@1 $M: The records of key $M stand in 2 legal partitions; by "
	  "their times it was rebased 0 times, and its fence is at home in partition 5.\n" },
	{ "missing: what may be gone is older", NULL, deletes_compacted_below, hash_gone, "",
	  "fence-missing error orders/2@16 $C: The key $C has no hash, and its record at 16 in "
	  "partition 2 was applied before 1970-01-01T00:16:40.000Z.\n" },
	{ "missing: waiting key, what may be gone is older", before_resize_hole, resized_hole, waiting_fence_gone,
	  "fence-rebased info orders/1@3 $M: The fence of key $M waits at 3 in partition 1; its next "
	  "record will be in partition 5 and rebase it.\n"
	  "fence-rebased info orders/1@5 $N: The fence of key $N waits at 5 in partition 1; its next "
	  "record will be in partition 5 and rebase it.\n",
	  "fence-missing error orders/1@5 $N: The key $N has no hash, and its record at 5 in partition "
	  "1 was applied before 1970-01-01T00:16:40.000Z.\n"
	  "fence-rebased info orders/1@3 $M: The fence of key $M waits at 3 in partition 1; its next "
	  "record will be in partition 5 and rebase it.\n" },
	{ "count: less, asked late, and nothing came", NULL, count_with_tombstone, c_counts_late, "",
	  "fence-count error orders/2@12 $C: The count of key $C is 4, and the records up to its "
	  "fence, 12 in partition 2, give 5: updates were lost.\n" },
	{ "count: less where the last watermark is not known", NULL, count_without_last, c_counts_late,
	  "fence-ahead ? watermark-unknown 3\n",
	  "fence-ahead ? watermark-unknown 3\n"
	  "fence-count ? tail-unread 1\n" },
	{ "count: on a marker", NULL, count_with_marker, fence_on_marker, "",
	  "fence-phantom ? gap 1\n"
	  "fence-aborted ? gap 1\n"
	  "fence-count ? fence-not-in-history 1\n" },
	{ "count: no number below a delete", NULL, count_deleted_above, a_counts_nothing, "",
	  "fence-count error orders/0@12 $A: The stored count of key $A is no integer; the records up "
	  "to its fence, 12 in partition 0, give 5.\n" },
	{ "expiring: at once, without fields", NULL, expiring_exactly, ttl_at_its_end_alone, "",
	  EXPIRES_A("16:40.000Z", "16:40.500Z") },
	{ "expiring: a field at once, the key later", NULL, expiring_exactly, field_ttl_at_its_end_beside, "",
	  EXPIRES_A("16:40.000Z", "16:40.500Z") },
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

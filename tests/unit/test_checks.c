/*
 * The checks, by a table: {name, what to break, what must be said}. Each row first proves that the same world passes
 * before it is broken. What is said is text, one line per finding ("check severity topic/partition@offset key: detail")
 * and per reason of what stayed undecided ("check ? reason n"), in the order of checks.
 */
#include "check_table.h"

#define NO_COMMIT                                                                                                     \
	"fence-regressed ? no-commit 3\n"                                                                             \
	"commit-missing info orders/2@- -: Partition 2 of orders has 15 records, and the group orders-processor has " \
	"no commit there.\n"
static const struct row rows[] = {
	{ "nothing", NULL, plain, nothing, "", "" },
	{ "healthy: only half is committed", NULL, half_committed, nothing, "", "" },
	{ "healthy: an idle partition without commit", NULL, idle_partition, nothing, "", "" },
	{ "healthy: the group began at offset 10", NULL, fresh_group, nothing, "", "" },
	{ "the mapping is broken", NULL, broken_mapping, nothing, "", "" },

	{ "healthy: compacted", NULL, compacted, nothing, "", "" },
	{ "healthy: without Redis", NULL, without_redis, nothing, "", "" },
	{ "the partition count is unknown", NULL, plain, count_unknown, "",
	  "fence-ahead ? partitions-unknown 12\nfence-regressed ? partitions-unknown 12\nfence-off-home ? "
	  "partitions-unknown 12\n"
	  "fence-rebased ? partitions-unknown 12\ncopartition-break ? partitions-unknown 4\n"
	  "topic-resized ? partitions-unknown 1\n" },

	{ "malformed", NULL, plain, fence_unreadable, "",
	  "fence-malformed error orders/0@- $A: The fence of key $A cannot be read: offset is not-decimal.\n" },
	{ "malformed: wrong type", NULL, plain, wrong_type, "",
	  "fence-malformed error orders/0@- $A: The key $A has a string in Redis where a hash with its fence should "
	  "be.\n" },
	{ "malformed: not looked at", NULL, plain, not_looked_at, "",
	  "fence-malformed ? not-looked-at 1\nfence-missing ? not-looked-at 1\nfence-regressed ? not-looked-at 1\n" },

	{ "orphan", NULL, plain, stray, "",
	  "fence-orphan warning orders/2@3 $S: The key $S has a hash with a fence at 3 in partition 2, and no record "
	  "anywhere in the history of orders.\n" },
	{ "orphan: history does not begin at 0", NULL, trimmed, stray_below, "",
	  "fence-orphan ? history-incomplete 1\nfence-phantom ? not-indexed 1\nfence-aborted ? not-indexed 1\n" },
	{ "orphan: topic was created again", plain, recreated, stray, "",
	  "fence-orphan ? earlier-incarnation 1\n"
	  "fence-phantom error orders/2@3 $S: The fence of key $S stands at 3 in partition 2, where the record of "
	  "another key is.\n" },

	{ "ahead", NULL, plain, fence_beyond, "",
	  "fence-ahead error orders/3@15 $D: The fence of key $D stands at 15 in partition 3, whose log ends at "
	  "15.\n" },
	{ "ahead: no such partition", NULL, plain, fence_in_no_partition, "",
	  "fence-ahead error orders/7@3 $D: The fence of key $D stands in partition 7, and orders has 4 "
	  "partitions.\n" },
	{ "ahead: partitions may have been added", NULL, plain, late_fence_in_no_partition, "",
	  "fence-ahead ? partitions-unknown 1\nfence-regressed ? partitions-unknown 1\nfence-phantom ? not-indexed 1\n"
	  "fence-aborted ? not-indexed 1\nfence-off-home ? partitions-unknown 1\n" },

	{ "missing", NULL, plain, hash_gone, "",
	  "fence-missing error orders/2@12 $C: The key $C has no hash, and its record at 12 in partition 2 was applied "
	  "before "
	  "1970-01-01T00:16:40.000Z.\n" },
	{ "missing: the empty key", NULL, empty_key, empty_gone, "",
	  "fence-missing error orders/1@16 : The empty key has no hash, and its record at 16 in partition 1 was "
	  "applied before 1970-01-01T00:16:40.000Z.\n" },
	{ "regressed: the empty key", NULL, empty_key, empty_one_back, "",
	  "fence-regressed error orders/1@16 : The fence of the empty key stands at 15 in partition 1, and must be at "
	  "or above 16 in partition 1: 1 record is lost.\n" },
	{ "missing: no commit", NULL, no_commit, hash_gone, NO_COMMIT,
	  "fence-missing ? no-commit 1\nfence-regressed ? no-commit 2\n"
	  "commit-missing info orders/2@- -: Partition 2 of orders has 15 records, and the group orders-processor has "
	  "no commit there.\n" },
	{ "missing: expired", NULL, expires_early, hash_gone, "", "fence-missing ? expired 1\n" },
	{ "missing: not yet expired", NULL, expires_late, hash_gone, "",
	  "fence-missing error orders/2@12 $C: The key $C has no hash, and its record at 12 in partition 2 was applied "
	  "before "
	  "1970-01-01T00:16:40.000Z.\n" },
	{ "missing: replica behind", NULL, behind, hash_gone, "", "fence-missing ? replica-behind 1\n" },
	{ "missing: silently rejected", NULL, silent, fence_of_one_gone, "", "fence-missing ? rejects-silent 1\n" },
	{ "missing: not silently rejected", NULL, silent, hash_gone, "",
	  "fence-missing error orders/2@12 $C: The key $C has no hash, and its record at 12 in partition 2 was applied "
	  "before "
	  "1970-01-01T00:16:40.000Z.\n" },
	{ "missing: DLQ incomplete", NULL, with_trimmed_dlq, hash_gone, "", "fence-missing ? dlq-incomplete 1\n" },
	{ "missing: not replayed", NULL, not_replayed, hash_gone,
	  "fence-regressed ? not-replayed 3\ncopartition-break ? not-replayed 1\nkey-hot ? not-replayed 1\n"
	  "topic-resized ? not-replayed 1\n",
	  "fence-missing error orders/2@12 $C: The key $C has no hash, and its record at 12 in partition 2 was applied "
	  "before "
	  "1970-01-01T00:16:40.000Z.\n"
	  "fence-regressed ? not-replayed 3\ncopartition-break ? not-replayed 1\nkey-hot ? not-replayed 1\n"
	  "topic-resized ? not-replayed 1\n" },
	{ "missing: deleted", NULL, deletes, hash_of_b_gone, "",
	  "fence-missing error orders/1@16 $B: The key $B has no hash, and its record at 16 in partition 1 was applied "
	  "before "
	  "1970-01-01T00:16:40.000Z.\n" },
	{ "missing: a tombstone may be gone", NULL, deletes_compacted, hash_gone, "", "fence-missing ? gap 1\n" },
	{ "missing: a tombstone may have come since", NULL, deletes_with_tail, hash_gone_late, "",
	  "fence-missing ? tail-unread 1\n" },
	{ "missing: nothing could have come yet", NULL, deletes_with_tail, hash_gone, "",
	  "fence-missing error orders/2@12 $C: The key $C has no hash, and its record at 12 in partition 2 was applied "
	  "before "
	  "1970-01-01T00:16:40.000Z.\n" },
	{ "missing: asked late, and nothing came", NULL, deletes, hash_gone_late, "",
	  "fence-missing error orders/2@12 $C: The key $C has no hash, and its record at 12 in partition 2 was applied "
	  "before "
	  "1970-01-01T00:16:40.000Z.\n" },
	{ "missing: the last watermark is not known", NULL, deletes_without_last, hash_gone_late,
	  "fence-ahead ? watermark-unknown 3\n",
	  "fence-ahead ? watermark-unknown 2\nfence-missing ? tail-unread 1\n" },
	{ "missing: deleted before it moved", NULL, resized_deleted, moved_fence_gone, DELETED_M,
	  "fence-missing ? resized 1\n" },
	{ "missing: waiting key, a tombstone may be gone", before_resize_compacted, resized_compacted,
	  waiting_fence_gone, RESIZED, "fence-missing ? gap 1\n" REBASED_M },
	{ "missing: waiting key, a tombstone may have come since", before_resize_deleting, resized_with_tail,
	  waiting_fence_gone_late, RESIZED, "fence-missing ? tail-unread 1\n" REBASED_M },
	{ "missing: ignored tombstone", NULL, ignores, hash_of_a_gone, "",
	  "fence-missing error orders/0@12 $A: The key $A has no hash, and its record at 12 in partition 0 was applied "
	  "before "
	  "1970-01-01T00:16:40.000Z.\n" },
	{ "missing: moved key", NULL, resized, moved_fence_gone, RESIZED,
	  "fence-missing error orders/5@1 $M: The key $M has no hash, and its record at 1 in partition 5 was applied "
	  "before "
	  "1970-01-01T00:16:40.000Z.\n" WAITS_N },
	{ "missing: waiting key, perhaps sent to the DLQ", NULL, resized, waiting_fence_gone, RESIZED,
	  "fence-missing ? resized 1\n" REBASED_M },
	{ "missing: waiting key, committed before", before_resize, resized, waiting_fence_gone, RESIZED,
	  "fence-missing error orders/1@2 $N: The key $N has no hash, and its record at 2 in partition 1 was applied "
	  "before "
	  "1970-01-01T00:16:40.000Z.\n" REBASED_M },

	{ "regressed", NULL, plain, fence_set_back, "",
	  "fence-regressed error orders/0@12 $A: The fence of key $A stands at 3 in partition 0, and must be at or "
	  "above 12 in partition 0: "
	  "3 records are lost.\n" },
	{ "regressed: by one", NULL, plain, fence_one_back, "",
	  "fence-regressed error orders/0@12 $A: The fence of key $A stands at 9 in partition 0, and must be at or "
	  "above 12 in partition 0: "
	  "1 record is lost.\n" },
	{ "regressed: above the commit", NULL, half_committed, fence_two_back, "", "" },
	{ "regressed: replica behind", NULL, behind, fence_set_back, "", "fence-regressed ? replica-behind 1\n" },
	{ "regressed: one silently rejected", NULL, silent, fence_one_back, "",
	  "fence-regressed ? rejects-silent 1\n" },
	{ "regressed: not silently rejected", NULL, silent, fence_two_back, "",
	  "fence-regressed error orders/0@12 $A: The fence of key $A stands at 6 in partition 0, and must be at or "
	  "above 12 in partition 0: "
	  "2 records are lost.\n" },
	{ "regressed: the newest is in the DLQ", NULL, with_dlq, fence_two_back, "",
	  "fence-regressed error orders/0@9 $A: The fence of key $A stands at 6 in partition 0, and must be at or "
	  "above 9 in partition 0: "
	  "1 record is lost.\n" },
	{ "regressed: DLQ incomplete", NULL, with_trimmed_dlq, fence_two_back, "",
	  "fence-regressed ? dlq-incomplete 1\n" },
	{ "regressed: DLQ without names", NULL, with_unnamed_dlq, fence_two_back, "",
	  "fence-regressed ? dlq-unnamed 1\n" },
	{ "regressed: moved key, offset", NULL, resized, moved_fence_low, RESIZED,
	  "fence-regressed error orders/5@1 $M: The fence of key $M stands at 0 in partition 5, and must be at or "
	  "above 1 in partition 5: "
	  "1 record is lost.\n" WAITS_N },
	{ "regressed: moved key, partition", NULL, resized, moved_fence_back, RESIZED,
	  "fence-regressed error orders/5@1 $M: The fence of key $M stands at 3 in partition 1, and must be at or "
	  "above 1 in partition 5: "
	  "2 records are lost.\n" WAITS_N },
	{ "regressed: waiting key, perhaps sent to the DLQ", NULL, resized, waiting_fence_low, RESIZED,
	  "fence-regressed ? resized 1\n"
	  "fence-phantom error orders/1@0 $N: The fence of key $N stands at 0 in partition 1, where the record of "
	  "another key is.\n" REBASED_M },
	{ "regressed: waiting key, committed before", before_resize, resized, waiting_fence_low, RESIZED,
	  "fence-regressed error orders/1@2 $N: The fence of key $N stands at 0 in partition 1, and must be at or "
	  "above 2 in partition 1: "
	  "1 record is lost.\n" REBASED_M },
	{ "regressed: waiting key, not in the DLQ", NULL, resized_with_dlq, waiting_fence_low, RESIZED,
	  "fence-regressed error orders/1@2 $N: The fence of key $N stands at 0 in partition 1, and must be at or "
	  "above 2 in partition 1: "
	  "1 record is lost.\n" REBASED_M },

	{ "undeleted", NULL, deletes, fence_at_older_tombstone, "",
	  "fence-undeleted error orders/0@15 $A: The key $A was deleted by the tombstone at 15 in partition 0, and has "
	  "a hash with a fence at 12.\n" },
	{ "undeleted: replica behind", NULL, deletes_behind, fence_at_older_tombstone, "",
	  "fence-undeleted ? replica-behind 1\n" },
	{ "undeleted: resized", NULL, resized_deleting, nothing, RESIZED, RESIZED },

	{ "phantom", NULL, plain, fence_on_other_record, "",
	  "fence-phantom error orders/1@13 $B: The fence of key $B stands at 13 in partition 1, where the record of "
	  "another key is.\n" },
	{ "phantom: a marker", NULL, aborted, fence_on_marker, "", "fence-phantom ? gap 1\nfence-aborted ? gap 1\n" },
	{ "phantom: unstable", NULL, open_transaction, fence_unstable, "lso-stuck ? looked-once 1\n",
	  "fence-phantom ? unstable 1\nfence-aborted ? unstable 1\nlso-stuck ? looked-once 1\n" },

	{ "aborted", NULL, aborted, fence_on_aborted, "",
	  "fence-aborted error orders/0@15 $A: The fence of key $A stands at 15 in partition 0, a record that was "
	  "aborted.\n" },

	{ "aborted: beside the highest offset", NULL, aborted, fences_on_aborted_and_highest, "",
	  "fence-ahead error orders/0@9223372036854775807 $D: The fence of key $D stands at 9223372036854775807 in "
	  "partition 0, whose log ends at 17.\n"
	  "fence-aborted error orders/0@15 $A: The fence of key $A stands at 15 in partition 0, a record that was "
	  "aborted.\n" },

	{ "off home", NULL, plain, fence_off_home, "",
	  "fence-off-home error orders/1@15 $S: The fence of key $S stands at 15 in partition 1, and the key is at "
	  "home in partition 2.\n"
	  "copartition-cause error orders/-@- -: At 1970-01-01T00:00:05.000Z 1 record of 1 key of orders stands off home: "
	  "too few keys to tell by what; at least 15 distinct ones are needed.\n"
	  "copartition-break error orders/1@15 $S: The key $S has 1 record in partition 1, from 15 to 15, and is at "
	  "home in partition 2.\n" },

	{ "value", NULL, last, value_other, "",
	  "fence-value error orders/0@12 $A: The value of key $A is not that of the record at its fence, 12 in "
	  "partition 0.\n" },
	{ "value: none", NULL, last, value_gone, "",
	  "fence-value error orders/0@12 $A: The hash of key $A has no value beside its fence at 12 in partition "
	  "0.\n" },
	{ "value: tombstone", NULL, last_with_tombstone, value_other, "fence-value ? tombstone-at-fence 1\n",
	  "fence-value ? tombstone-at-fence 1\n" },

	{ "count: more", NULL, count, number_more, "",
	  "fence-count error orders/0@12 $A: The count of key $A is 6, and the records up to its fence, 12 in "
	  "partition 0, give 5: "
	  "more was applied than was written.\n" },
	{ "count: less", NULL, count, number_less, "",
	  "fence-count error orders/0@12 $A: The count of key $A is 4, and the records up to its fence, 12 in "
	  "partition 0, give 5: "
	  "updates were lost.\n" },
	{ "count: begins anew at a delete", NULL, count_deleted, hash_of_a_gone, "", "" },
	{ "count: TTL", NULL, count, number_with_ttl, "", "fence-count ? ttl 1\n" },
	{ "count: history incomplete", NULL, count_trimmed, number_more, "fence-count ? history-incomplete 12\n",
	  "fence-count ? history-incomplete 12\n" },
	{ "sum", NULL, sum, number_more, "",
	  "fence-count error orders/0@12 $A: The sum of key $A is 101, and the records up to its fence, 12 in "
	  "partition 0, give 100: "
	  "more was applied than was written.\n" },
	{ "sum: no number", NULL, sum_of_words, number_more, "fence-count ? no-number 1\n",
	  "fence-count ? no-number 1\n" },

	{ "rebased", NULL, resized, nothing, RESIZED, RESIZED },
	{ "regressed: on a compacted offset", NULL, compacted, fence_on_compacted, "",
	  "fence-regressed error orders/0@1 $A: The fence of key $A stands at 0 in partition 0, and must be at or "
	  "above 1 in partition 0: "
	  "1 record is lost.\n" },
	{ "aborted: read uncommitted", NULL, uncommitted, nothing, "", "" },
	{ "value: not in the history", NULL, last_with_marker, fence_on_marker, "",
	  "fence-phantom ? gap 1\nfence-aborted ? gap 1\nfence-value ? fence-not-in-history 1\n" },
	{ "count: silently rejected", NULL, count_silent, number_more, "fence-count ? rejects-silent 13\n",
	  "fence-count ? rejects-silent 13\n" },
	{ "count: rebased", NULL, count_resized, count_of_moved, "fence-count ? rebased 1\n" RESIZED,
	  "fence-count ? rebased 1\n" RESIZED },
	{ "co-partitioned: resized", NULL, copartitioned_resized, nothing, RESIZED "copartition-split ? resized 1\n",
	  RESIZED "copartition-split ? resized 1\n" },

	{ "expiring", NULL, expiring, ttl_short, "",
	  "fence-expiring warning orders/0@12 $A: The fence of key $A expires at 1970-01-01T00:31:40.000Z; its newest "
	  "record, of "
	  "1970-01-01T00:00:04.000Z, can be delivered again until 1970-01-01T00:33:24.000Z.\n" },
	{ "expiring: a field", NULL, expiring, field_ttl_short, "",
	  "fence-expiring warning orders/0@12 $A: The fence of key $A expires at 1970-01-01T00:31:40.000Z; its newest "
	  "record, of "
	  "1970-01-01T00:00:04.000Z, can be delivered again until 1970-01-01T00:33:24.000Z.\n" },
	{ "expiring: records are kept for ever", NULL, kept_for_ever, ttl_short,
	  "fence-expiring ? retention-infinite 12\n", "fence-expiring ? retention-infinite 12\n" },
	{ "expiring: retention unknown", NULL, retention_unknown, ttl_short, "fence-expiring ? retention-unknown 12\n",
	  "fence-expiring ? retention-unknown 12\n" },

	{ "break", NULL, plain, wrong_partition, "",
	  "copartition-cause error orders/-@- -: From 1970-01-01T00:00:09.000Z to 1970-01-01T00:00:09.100Z 2 records of 1 "
	  "key of orders stand off home: too few keys to tell by what; at least 15 distinct ones are needed.\n"
	  "copartition-break error orders/2@15 $A: The key $A has 2 records in partition 2, from 15 to 16, and is at "
	  "home in partition 0.\n" },
	{ "co-partitioned: count", NULL, copartitioned, count_other, "",
	  "copartition-count error customers/-@- -: orders has 4 partitions, and customers, declared co-partitioned, "
	  "has 5.\n"
	  "copartition-split ? count-differs 12\n"
	  "topic-resized warning customers/-@- -: customers grew from 4 to 5 partitions, and no record shows when: of 12 "
	  "keys from before, 2 kept their home (2.4 expected), 0 have been rebased since, and 10 will be by the next "
	  "record.\n" },
	{ "co-partitioned: split", NULL, copartitioned, split, "",
	  "copartition-cause error customers/-@- -: At 1970-01-01T00:00:09.000Z 1 record of 1 key of customers stands off "
	  "home: too few keys to tell by what; at least 15 distinct ones are needed.\n"
	  "copartition-split error customers/3@3 $A: The key $A is in partition 0 of orders and in partition 3 of "
	  "customers.\n" },

	{ "epoch: malformed", NULL, epochs, epoch_word, "",
	  "epoch-malformed error orders/1@- -: The epoch of partition 1 of orders is no integer: not-decimal.\n" },
	{ "epoch: missing", NULL, epochs, epoch_gone, "",
	  "epoch-missing warning orders/2@- -: Partition 2 of orders is committed up to 15 and has no epoch in "
	  "Redis.\n" },
	{ "epoch: regressed", epochs, epochs, epoch_lower, "",
	  "epoch-regressed error orders/3@- -: The epoch of partition 3 of orders is 5, and was 7 in run 1.\n" },
	{ "epoch: malformed after a run", epochs, epochs, epoch_word, "",
	  "epoch-malformed error orders/1@- -: The epoch of partition 1 of orders is no integer: "
	  "not-decimal.\nepoch-regressed ? malformed 1\n" },

	{ "commit: missing", NULL, plain, commit_gone, "",
	  "fence-regressed ? no-commit 3\n"
	  "commit-missing info orders/1@- -: Partition 1 of orders has 15 records, and the group orders-processor has "
	  "no commit there.\n" },
	{ "commit: regressed", plain, plain, commit_lower, "",
	  "commit-regressed warning orders/1@9 -: The group orders-processor has committed 9 in partition 1 of orders, "
	  "and had committed 15 in run 1.\n" },
	{ "commit: regressed, no earlier run", NULL, plain, commit_lower, "", "" },
	{ "commit: beyond", NULL, plain, commit_beyond, "",
	  "commit-beyond-log error orders/1@30 -: The group orders-processor has committed 30 in partition 1 of "
	  "orders, whose log ends at 15.\n" },
	{ "commit: below the log", NULL, plain, commit_expired, "",
	  "commit-below-log error orders/1@9 -: 3 records of partition 1 of orders expired unprocessed: the group "
	  "orders-processor had committed 9, "
	  "and the log began at 12.\n" },
	{ "commit: below the log, never indexed", NULL, trimmed, commit_expired_long_ago, "",
	  "commit-below-log ? never-indexed 1\n" },

	{ "rewritten", longer, recreated, end_fell, "",
	  "history-rewritten error orders/0@15 -: The end of partition 0 of orders fell to 15, below what was "
	  "indexed.\n" },
	{ "stuck", long_ago, open_transaction, nothing,
	  "lso-stuck warning orders/1@15 -: The last stable offset of partition 1 of orders has stood at 15 for 900 s, "
	  "below the high watermark 20.\n",
	  "lso-stuck warning orders/1@15 -: The last stable offset of partition 1 of orders has stood at 15 for 900 s, "
	  "below the high watermark 20.\n" },
	{ "not yet stuck", just_now, open_transaction, nothing, "lso-stuck ? looked-once 1\n",
	  "lso-stuck ? looked-once 1\n" },
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

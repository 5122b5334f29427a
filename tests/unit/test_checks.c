/*
 * The checks, by a table: {name, what to break, what must be said}. Each row first proves that the same world passes
 * before it is broken. What is said is text, one line per finding ("check severity topic/partition@offset key: detail")
 * and per reason of what stayed undecided ("check ? reason n"), in the order of checks.
 */
#include "analyzer/analyzer.h"

#include "index_fixture.h"

#include <unistd.h>

/*
 * --- what the index says after a check ------------------------------------------------------------------------------
 */

static const char SAID[] =
	"SELECT line FROM ("
	"SELECT ordinal, 0 AS part, 0 AS sub, name || ' ! ' || trouble AS line FROM check_result WHERE run_id = ?1 AND "
	"status = 'error' "
	"UNION ALL "
	"SELECT c.ordinal, 1, f.ordinal, f.name || ' ' || f.severity || ' ' || coalesce(f.topic, '-') || '/' || "
	"coalesce(f.partition, '-') || '@' "
	"|| coalesce(f.offset, '-') || ' ' || coalesce(key_text(f.key), '-') || ': ' || f.detail "
	"FROM finding AS f JOIN check_result AS c ON c.run_id = f.run_id AND c.pipeline = f.pipeline AND c.name = "
	"f.name WHERE f.run_id = ?1 "
	"UNION ALL "
	"SELECT c.ordinal, 2, row_number() OVER (ORDER BY u.reason), u.name || ' ? ' || u.reason || ' ' || u.subjects "
	"FROM unverifiable AS u JOIN check_result AS c ON c.run_id = u.run_id AND c.pipeline = u.pipeline AND c.name = "
	"u.name WHERE u.run_id = ?1"
	") ORDER BY ordinal, part, sub";

/* All lines, each with a newline. The caller frees. */
static char *said(struct fixture *fx)
{
	struct trouble t = { 0 };
	char *all = xstrdup("");
	sqlite3_stmt *stmt;
	int more;

	must(db_prepare(fx->db, SAID, &stmt, &t), &t);
	db_bind_int(stmt, 1, fx->run.id);
	while ((more = db_step(stmt, &t)) > 0) {
		char *longer = xprintf("%s%s\n", all, (const char *)sqlite3_column_text(stmt, 0));

		free(all);
		all = longer;
	}
	must(more, &t);
	sqlite3_finalize(stmt);
	return all;
}

static void analyze(struct fixture *fx)
{
	struct trouble t = { 0 };

	must(analyzer_check(&fx->run, fx->db, &(struct analyzer_options){ 0 }, &t), &t);
}

/*
 * --- the worlds ------------------------------------------------------------------------------------------------------
 */

/*
 * A to D: the first keys at home in partitions 0 to 3 of 4. M and N: two that move from partition 1 of 4 to 5 of 8; L
 * one that stays in 1. S: a key of partition 2 that no world has.
 */
static const char *A, *B, *C, *D, *L, *M, *N, *S;

static void name_keys(void)
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

static void five_rounds(struct world *w)
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
static void plain(struct world *w)
{
	five_rounds(w);
	world_settle(w);
}

/* Indexing began at 100 in each partition. */
static void trimmed(struct world *w)
{
	for (int p = 0; p < 4; p++)
		w->topic[0].part[p] = (struct world_part){ .first = 100,
							   .next = 100,
							   .log_start = 100,
							   .last_stable = UNKNOWN,
							   .high_watermark = UNKNOWN,
							   .committed = UNKNOWN,
							   .from = UNKNOWN };
	plain(w);
}

static void no_commit(struct world *w)
{
	plain(w);
	w->topic[0].part[2].committed = UNKNOWN;
}

static void half_committed(struct world *w)
{
	plain(w);
	for (int p = 0; p < 4; p++)
		w->topic[0].part[p].committed = 6;
}

/* An open transaction in partition 1: the log goes on to 20. */
static void open_transaction(struct world *w)
{
	plain(w);
	w->topic[0].part[1].high_watermark = 20;
}

/* Partition 0: an aborted record of A at 15, a marker at 16. */
static void aborted(struct world *w)
{
	five_rounds(w);
	world_put(w, A, 9000)->aborted = true;
	world_skip(w, 0);
	world_settle(w);
}

static void expires_early(struct world *w)
{
	w->pipeline.expires_ms = 900000;
	plain(w);
}

static void expires_late(struct world *w)
{
	w->pipeline.expires_ms = 1000000;
	plain(w);
}

static void behind(struct world *w)
{
	w->pipeline.replica = "the replica did not reach 1204 within 30 s";
	plain(w);
}

static void silent(struct world *w)
{
	w->pipeline.rejects = "silent";
	plain(w);
	world_put(w, S, 5000); /* one record only */
	world_settle(w);
}

/* Record 12 of partition 0, A's newest, is in the DLQ. */
static void with_dlq(struct world *w)
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

static void with_trimmed_dlq(struct world *w)
{
	with_dlq(w);
	w->topic[1].part[0].first = w->topic[1].part[0].log_start = 0;
	w->topic[1].part[0].gap_to = 1;
}

static void with_unnamed_dlq(struct world *w)
{
	with_dlq(w);
	world_put_in(&w->topic[1], 0, "x", 9500);
}

static void broken_mapping(struct world *w)
{
	w->pipeline.mapping = "broken";
	plain(w);
	for (size_t i = 0; i < w->fences; i++)
		world_absent(w, w->fence[i].key);
}

static void not_replayed(struct world *w)
{
	plain(w);
	w->topic[0].part[3].uncovered = true;
}

static void fresh_group(struct world *w)
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
static void deletes(struct world *w)
{
	w->pipeline.tombstones = "delete";
	five_rounds(w);
	world_put(w, A, 6000)->tombstone = true;
	world_put(w, B, 6000)->tombstone = true;
	world_put(w, B, 7000);
	world_settle(w);
}

static void deletes_behind(struct world *w)
{
	w->pipeline.replica = "the replica did not reach 1204 within 30 s";
	deletes(w);
}

static void deletes_compacted(struct world *w)
{
	w->topic[0].compacted = true;
	w->topic[0].fact.cleanup_policy = "compact";
	deletes(w);
	world_skip(w, 2);
	world_put(w, key_homed(2, 4, 1), 8000);
	world_settle(w);
}

static void ignores(struct world *w)
{
	w->pipeline.tombstones = "ignore";
	five_rounds(w);
	world_put(w, A, 6000)->tombstone = true;
	world_settle(w);
}

static void last(struct world *w)
{
	w->pipeline.state = "last";
	plain(w);
}

static void last_with_tombstone(struct world *w)
{
	w->pipeline.state = "last";
	five_rounds(w);
	world_put(w, A, 6000)->tombstone = true;
	world_settle(w);
}

static void count(struct world *w)
{
	w->pipeline.state = "count";
	plain(w);
}

static void count_deleted(struct world *w)
{
	w->pipeline.state = "count";
	deletes(w);
}

static void count_trimmed(struct world *w)
{
	w->pipeline.state = "count";
	trimmed(w);
}

static void sum(struct world *w)
{
	w->pipeline.state = "sum";
	plain(w);
}

static void sum_of_words(struct world *w)
{
	sum(w);
	w->topic[0].record[0].has_number = false;
}

static void expiring(struct world *w)
{
	plain(w);
	w->topic[0].fact.retention_ms = 2000000;
	for (size_t i = 0; i < w->fences; i++)
		w->fence[i].fact.ttl_ms = 1500000;
}

static void kept_for_ever(struct world *w)
{
	expiring(w);
	w->topic[0].fact.retention_ms = -1;
}

static void retention_unknown(struct world *w)
{
	expiring(w);
	w->topic[0].fact.cleanup_policy = NULL;
}

/* 4 partitions until now, and L, M and N in partition 1: offsets 0 L, 1 M, 2 N, 3 M. */
static void before_resize(struct world *w)
{
	struct world_topic *t = &w->topic[0];

	world_put_in(t, 1, L, 100);
	world_put_in(t, 1, M, 200);
	world_put_in(t, 1, N, 300);
	world_put_in(t, 1, M, 400);
	world_settle(w);
}

static void grow(struct world *w)
{
	struct world_topic *t = &w->topic[0];

	t->partitions = t->fact.partitions = t->fact.partitions_at_start = 8;
}

/* 8 partitions; M has moved (5@0, 5@1), N waits in partition 1. */
static void resized(struct world *w)
{
	before_resize(w);
	grow(w);
	w->before[0] = 4;
	world_put_in(&w->topic[0], 5, M, 500);
	world_put_in(&w->topic[0], 5, M, 600);
	world_settle(w);
}

static void resized_with_dlq(struct world *w)
{
	w->pipeline.rejects = "dlq";
	resized(w);
	world_add_topic(w, "orders-dlq", DLQ, 1);
}

static void resized_deleting(struct world *w)
{
	w->pipeline.tombstones = "delete";
	resized(w);
}

/* A key of 12 partitions that has not moved in one topic yet. */
static void copartitioned_resized(struct world *w)
{
	struct world_topic *t;

	resized(w);
	t = world_add_topic(w, "customers", COPARTITIONED, 8);
	world_put_in(t, 1, M, 100);
	world_put_in(t, 1, N, 100);
	w->topic[1].fact.main_threshold = INT64_MAX;
}

static void count_silent(struct world *w)
{
	w->pipeline.state = "count";
	silent(w);
}

static void count_resized(struct world *w)
{
	w->pipeline.state = "count";
	resized(w);
}

static void uncommitted(struct world *w)
{
	w->pipeline.isolation = "read_uncommitted";
	plain(w);
}

static void last_with_marker(struct world *w)
{
	w->pipeline.state = "last";
	aborted(w);
}

static void without_redis(struct world *w)
{
	w->pipeline.redis = NULL;
	plain(w);
	w->fences = 0;
}

static void compacted(struct world *w)
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

static void copartitioned(struct world *w)
{
	struct world_topic *t;

	plain(w);
	t = world_add_topic(w, "customers", COPARTITIONED, 4);
	for (int p = 0; p < 4; p++)
		for (int i = 0; i < 3; i++)
			world_put_in(t, p, key_homed(p, 4, i), 100 * i);
}

static void epochs(struct world *w)
{
	w->pipeline.epoch_template = "epoch:{topic}:{partition}";
	plain(w);
	for (int p = 0; p < 4; p++)
		w->epoch[w->epochs++] = (struct world_epoch){ p, { .read_us = w->run_us, .present = 1, .value = 7 } };
}

static void idle_partition(struct world *w)
{
	for (int i = 0; i < 5; i++)
		world_put(w, A, i);
	world_settle(w);
	for (int p = 1; p < 4; p++)
		w->topic[0].part[p].committed = UNKNOWN;
}

static void long_ago(struct world *w)
{
	open_transaction(w);
	w->run_us -= INT64_C(900001) * 1000;
}

static void just_now(struct world *w)
{
	open_transaction(w);
	w->run_us -= INT64_C(899999) * 1000;
}

/* The broken world keeps what the healthy one has, so one more record for it to differ in. */
static void longer(struct world *w)
{
	plain(w);
	world_put(w, A, 9000);
	world_settle(w);
}

static void recreated(struct world *w)
{
	plain(w);
	w->topic[0].fresh = true;
}

/*
 * --- what is broken --------------------------------------------------------------------------------------------------
 */

static void nothing(struct world *w)
{
	(void)w;
}

static void fence_set_back(struct world *w) { world_set(w, A, 0, 3); }
static void fence_one_back(struct world *w) { world_set(w, A, 0, 9); }
static void fence_two_back(struct world *w) { world_set(w, A, 0, 6); }
static void fence_of_one_gone(struct world *w) { world_absent(w, S); }
static void fence_on_other_record(struct world *w) { world_set(w, B, 1, 13); }
static void fence_off_home(struct world *w)
{
	world_set(w, A, 0, 12);
	world_put_in(&w->topic[0], 1, S, 5000);
	world_set(w, S, 1, 15);
	w->topic[0].part[1].committed = 16;
}
static void hash_gone(struct world *w) { world_absent(w, C); }
static void hash_of_a_gone(struct world *w) { world_absent(w, A); }
static void fence_beyond(struct world *w) { world_set(w, D, 3, 15); }
static void fence_in_no_partition(struct world *w) { world_set(w, D, 7, 3); }
static void stray(struct world *w) { world_set(w, S, 2, 3); }
static void stray_below(struct world *w) { world_set(w, S, 2, 50); }
static void fence_on_marker(struct world *w) { world_set(w, A, 0, 16); }
static void fence_on_aborted(struct world *w) { world_set(w, A, 0, 15); }
static void fence_unstable(struct world *w) { world_set(w, B, 1, 17); }
static void hash_of_b_gone(struct world *w) { world_absent(w, B); }
static void value_other(struct world *w) { world_fence_of(w, A)->fact.value_hash++; }
static void value_gone(struct world *w) { world_fence_of(w, A)->fact.value_hash = UNKNOWN; }
static void number_more(struct world *w) { world_fence_of(w, A)->fact.value_number++; }
static void number_less(struct world *w) { world_fence_of(w, A)->fact.value_number--; }
static void number_with_ttl(struct world *w) { number_more(w); world_fence_of(w, A)->fact.ttl_ms = 900000000; }
static void ttl_short(struct world *w) { world_fence_of(w, A)->fact.ttl_ms = 900000; }
static void field_ttl_short(struct world *w) { world_fence_of(w, A)->fact.field_ttl_ms = 900000; }
static void moved_fence_back(struct world *w) { world_set(w, M, 1, 3); }
static void moved_fence_low(struct world *w) { world_set(w, M, 5, 0); }
static void moved_fence_gone(struct world *w) { world_absent(w, M); }
static void waiting_fence_low(struct world *w) { world_set(w, N, 1, 0); }
static void waiting_fence_gone(struct world *w) { world_absent(w, N); }
static void wrong_partition(struct world *w)
{
	world_put_in(&w->topic[0], 2, A, 9000);
	world_put_in(&w->topic[0], 2, A, 9100);
	w->topic[0].part[2].committed = 17;
}
static void count_other(struct world *w) { w->topic[1].partitions = w->topic[1].fact.partitions = 5; }
static void split(struct world *w) { world_put_in(&w->topic[1], 3, A, 9000); }
static void epoch_word(struct world *w)
{
	w->epoch[1].fact.value = UNKNOWN;
	w->epoch[1].fact.malformed = "not-decimal";
}
static void epoch_gone(struct world *w) { w->epoch[2].fact.value = UNKNOWN; w->epoch[2].fact.present = 0; }
static void epoch_lower(struct world *w) { w->epoch[3].fact.value = 5; }
static void commit_gone(struct world *w) { w->topic[0].part[1].committed = UNKNOWN; }
static void commit_lower(struct world *w) { w->topic[0].part[1].committed = 9; }
static void commit_beyond(struct world *w) { w->topic[0].part[1].committed = 30; }
static void commit_expired(struct world *w) { w->topic[0].part[1].committed = 9; w->topic[0].part[1].log_start = 12; }
static void commit_expired_long_ago(struct world *w) { w->topic[0].part[1].committed = 90; }

static void fence_unreadable(struct world *w)
{
	struct world_fence *f = world_set(w, A, 0, 12);

	f->fact.partition = f->fact.offset = UNKNOWN;
	f->fact.malformed = "offset is not-decimal";
	f->fact.offset_raw = (struct bytes){ "x12", 3 };
}

static void wrong_type(struct world *w)
{
	world_absent(w, A);
	world_fence_of(w, A)->fact.present = 1;
	world_fence_of(w, A)->fact.type = "string";
}

static void not_looked_at(struct world *w)
{
	*world_fence_of(w, A) = w->fence[--w->fences];
}

static void late_fence_in_no_partition(struct world *w)
{
	world_set(w, D, 7, 3)->fact.sampled_us = w->run_us + 150;
}

static void fence_at_older_tombstone(struct world *w)
{
	world_set(w, A, 0, 12)->fact.value_number = 5;
}

static void fence_on_compacted(struct world *w) { world_set(w, A, 0, 0); }
static void count_of_moved(struct world *w) { world_fence_of(w, M)->fact.value_number++; }
static void count_unknown(struct world *w) { w->topic[0].fact.partitions = UNKNOWN; }

static void end_fell(struct world *w)
{
	w->rewritten = true;
	w->rewrite = (struct fact_rewrite){ .cluster = "cluster",
					    .topic = "orders",
					    .partition = 0,
					    .kind = "fell",
					    .offset = 15,
					    .old_incarnation_id = 1,
					    .evidence = "{}" };
}

struct row {
	const char *name;
	void (*earlier)(struct world *w); /* an earlier run; NULL: none */
	void (*make)(struct world *w);
	void (*spoil)(struct world *w);
	const char *healthy; /* said before the world is broken */
	const char *words;
};

#define NO_COMMIT                                                                                                     \
	"fence-regressed ? no-commit 3\n"                                                                             \
	"commit-missing info orders/2@- -: Partition 2 of orders has 15 records, and the group orders-processor has " \
	"no commit there.\n"
#define REBASED_M                                                                                                     \
	"fence-rebased info orders/5@1 $M: The records of key $M stand in 2 legal partitions; by their times it was " \
	"rebased 1 time, "                                                                                            \
	"and its fence is at home in partition 5.\n"
#define WAITS_N                                                                                                        \
	"fence-rebased info orders/1@2 $N: The fence of key $N waits at 2 in partition 1; its next record will be in " \
	"partition 5 and rebase it.\n"
#define RESIZED WAITS_N REBASED_M

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
	  "fence-rebased ? partitions-unknown 12\ncopartition-break ? partitions-unknown 4\n" },

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
	  "fence-regressed ? not-replayed 3\ncopartition-break ? not-replayed 1\n",
	  "fence-missing error orders/2@12 $C: The key $C has no hash, and its record at 12 in partition 2 was applied "
	  "before "
	  "1970-01-01T00:16:40.000Z.\n"
	  "fence-regressed ? not-replayed 3\ncopartition-break ? not-replayed 1\n" },
	{ "missing: deleted", NULL, deletes, hash_of_b_gone, "",
	  "fence-missing error orders/1@16 $B: The key $B has no hash, and its record at 16 in partition 1 was applied "
	  "before "
	  "1970-01-01T00:16:40.000Z.\n" },
	{ "missing: a tombstone may be gone", NULL, deletes_compacted, hash_gone, "", "fence-missing ? gap 1\n" },
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

	{ "off home", NULL, plain, fence_off_home, "",
	  "fence-off-home error orders/1@15 $S: The fence of key $S stands at 15 in partition 1, and the key is at "
	  "home in partition 2.\n"
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
	  "copartition-break error orders/2@15 $A: The key $A has 2 records in partition 2, from 15 to 16, and is at "
	  "home in partition 0.\n" },
	{ "co-partitioned: count", NULL, copartitioned, count_other, "",
	  "copartition-count error customers/-@- -: orders has 4 partitions, and customers, declared co-partitioned, "
	  "has 5.\n"
	  "copartition-split ? count-differs 12\n" },
	{ "co-partitioned: split", NULL, copartitioned, split, "",
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

/*
 * --- running the table -----------------------------------------------------------------------------------------------
 */

/* Words with $A ... replaced by keys. The caller frees. */
static char *filled(const char *words)
{
	const char *const keys[] = { ['A' - 'A'] = A, ['B' - 'A'] = B, ['C' - 'A'] = C, ['D' - 'A'] = D,
				     ['L' - 'A'] = L, ['M' - 'A'] = M, ['N' - 'A'] = N, ['S' - 'A'] = S };
	char *text = xstrdup("");

	while (*words) {
		size_t plain_size = strcspn(words, "$");
		bool mark = words[plain_size] == '$';
		char *longer = xprintf("%s%.*s%s", text, (int)plain_size, words,
				       mark ? keys[words[plain_size + 1] - 'A'] : "");

		free(text);
		text = longer;
		words += plain_size + (mark ? 2 : 0);
	}
	return text;
}

static int failures;

static void expect(const struct row *row, void (*spoil)(struct world *), const char *words)
{
	struct world *w = world_new(), *before = world_new();
	struct fixture fx;
	char *want = filled(words), *got;

	row->make(w);
	spoil(w);
	fixture_open(&fx);
	if (row->earlier) {
		row->earlier(before);
		fixture_add(&fx, before);
	}
	fixture_add(&fx, w);
	analyze(&fx);
	got = said(&fx);
	if (strcmp(got, want) != 0) {
		print_error("%s:\nsaid:\n%swanted:\n%s", row->name, got, want);
		failures++;
	}
	free(got);
	free(want);
	fixture_close(&fx);
	world_free(w);
	world_free(before);
}

static void test_table(void **state)
{
	(void)state;
	name_keys();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		expect(&rows[i], nothing, rows[i].healthy);
		expect(&rows[i], rows[i].spoil, rows[i].words);
	}
	assert_int_equal(failures, 0);
}

/*
 * --- beside the table ------------------------------------------------------------------------------------------------
 */

/* A fixture with one run of a world, analyzed. */
static void run_world(struct fixture *fx, void (*make)(struct world *), void (*spoil)(struct world *))
{
	struct world *w = world_new();

	name_keys();
	make(w);
	spoil(w);
	fixture_open(fx);
	fixture_add(fx, w);
	analyze(fx);
	world_free(w);
}

static char *text_of(struct fixture *fx, const char *sql)
{
	struct trouble t = { 0 };
	sqlite3_stmt *stmt;
	char *text;

	must(db_prepare(fx->db, sql, &stmt, &t), &t);
	must(db_step(stmt, &t), &t);
	text = db_text_dup(stmt, 0);
	sqlite3_finalize(stmt);
	return text;
}

static void assert_text(struct fixture *fx, const char *sql, const char *want)
{
	char *got = text_of(fx, sql);

	assert_string_equal(got ? got : "NULL", want);
	free(got);
}

static void test_evidence(void **state)
{
	struct fixture fx;

	(void)state;
	run_world(&fx, plain, fence_set_back);
	assert_text(&fx, "SELECT evidence FROM finding",
		    "{\"kind\":\"offset\",\"fence\":{\"partition\":0,\"offset\":3},\"expected\":{\"partition\":0,"
		    "\"offset\":12},\"lost\":3,"
		    "\"first_lost\":{\"offset\":6,\"time\":\"1970-01-01T00:00:02.000Z\",\"time_ms\":2000},"
		    "\"last_lost\":{\"offset\":12,\"time\":\"1970-01-01T00:00:04.000Z\",\"time_ms\":4000},"
		    "\"recheckable\":true}");
	assert_text(&fx, "SELECT hex(redis_key) FROM finding", "73746174653A6B33"); /* state:k3 */
	assert_text(&fx, "SELECT remedy FROM finding",
		    "Redis lost writes that the pipeline had committed. Stop the workers of the partition, and replay "
		    "the key's records from the first "
		    "lost one; the fence lets through exactly those.");
	fixture_close(&fx);
	run_world(&fx, plain, wrong_partition);
	assert_text(&fx, "SELECT evidence FROM finding",
		    "{\"home\":0,\"partitions\":4,\"records\":2,\"first\":{\"offset\":15,\"time\":\"1970-01-01T00:00:"
		    "09.000Z\",\"time_ms\":9000},"
		    "\"last\":{\"offset\":16,\"time\":\"1970-01-01T00:00:09.100Z\",\"time_ms\":9100},\"recheckable\":"
		    "true}");
	fixture_close(&fx);
	run_world(&fx, resized, nothing);
	assert_text(
		&fx, "SELECT evidence FROM finding WHERE partition = 5",
		"{\"fence\":{\"partition\":5,\"offset\":1},\"home\":5,\"done\":true,\"rebases\":1,\"order\":\"record "
		"times\",\"partitions\":["
		"{\"partition\":1,\"records\":2,\"first_offset\":1,\"last_offset\":3,\"first_ms\":200,\"last_ms\":400},"
		"{\"partition\":5,\"records\":2,\"first_offset\":0,\"last_offset\":1,\"first_ms\":500,\"last_ms\":600}]"
		"}");
	fixture_close(&fx);
	run_world(&fx, aborted, fence_on_marker);
	fixture_close(&fx);
	run_world(&fx, plain, fence_on_other_record);
	assert_text(&fx,
		    "SELECT json_extract(evidence, '$.record.key') = (SELECT key_utf8(key) FROM record WHERE partition "
		    "= 1 AND offset = 13) FROM finding",
		    "1");
	fixture_close(&fx);
}

/* A finding is the same one in the next run, and another one where another offset matters. */
static void test_ids(void **state)
{
	struct world *w = world_new();
	struct fixture fx;

	(void)state;
	name_keys();
	plain(w);
	fence_set_back(w);
	fixture_open(&fx);
	fixture_add(&fx, w);
	analyze(&fx);
	fixture_add(&fx, w);
	analyze(&fx);
	assert_text(&fx, "SELECT count(*) || ' ' || count(DISTINCT id) || ' ' || max(length(id)) FROM finding",
		    "2 1 32");
	world_set(w, A, 0, 6);
	fixture_add(&fx, w);
	analyze(&fx);
	assert_text(&fx, "SELECT count(*) || ' ' || count(DISTINCT id) FROM finding", "3 2");
	fixture_close(&fx);
	world_free(w);
}

static void test_results(void **state)
{
	struct fixture fx;

	(void)state;
	run_world(&fx, plain, fence_set_back);
	assert_text(&fx,
		    "SELECT group_concat(name || ' ' || status || ' ' || examined || ' ' || findings, x'0a') FROM "
		    "(SELECT * FROM check_result ORDER BY ordinal)",
		    "fence-malformed pass 12 0\nfence-orphan pass 12 0\nfence-ahead pass 12 0\nfence-missing pass 12 "
		    "0\nfence-regressed fail 12 1\n"
		    "fence-undeleted skip 0 0\nfence-phantom pass 11 0\nfence-aborted pass 11 0\nfence-off-home pass "
		    "11 0\nfence-value skip 0 0\n"
		    "fence-count skip 0 0\nfence-rebased pass 11 0\nfence-expiring pass 12 0\ncopartition-break pass "
		    "12 0\ncopartition-count skip 0 0\n"
		    "copartition-split skip 0 0\nepoch-malformed skip 0 0\nepoch-missing skip 0 0\nepoch-regressed "
		    "skip 0 0\ncommit-missing pass 4 0\n"
		    "commit-regressed empty 0 0\ncommit-below-log pass 4 0\ncommit-beyond-log pass 4 "
		    "0\nhistory-rewritten empty 0 0\nlso-stuck pass 4 0");
	assert_text(&fx, "SELECT reached FROM run", "checked");
	assert_text(&fx, "SELECT group_concat(verdict || ' ' || records) FROM verdict_count",
		    "APPLY 60,DLQ 0,REBASE 0");
	fixture_close(&fx);
	run_world(&fx, broken_mapping, nothing);
	assert_text(&fx, "SELECT group_concat(DISTINCT status) FROM check_result WHERE name LIKE 'fence-%'", "skip");
	fixture_close(&fx);
	run_world(&fx, resized, nothing);
	assert_text(&fx, "SELECT group_concat(verdict || ' ' || records) FROM verdict_count", "APPLY 5,DLQ 0,REBASE 1");
	fixture_close(&fx);
}

static void all_set_back(struct world *w)
{
	for (int p = 0; p < 4; p++)
		for (int i = 0; i < 3; i++)
			world_set(w, key_homed(p, 4, i), p, i);
	w->max_findings = "5";
}

/* Totals are exact where fewer findings are kept. */
static void test_most_findings(void **state)
{
	struct fixture fx;

	(void)state;
	run_world(&fx, plain, all_set_back);
	assert_text(&fx, "SELECT findings || ' ' || kept FROM check_result WHERE name = 'fence-regressed'", "12 5");
	assert_text(&fx, "SELECT count(*) || ' ' || min(ordinal) || ' ' || max(ordinal) FROM finding", "5 0 4");
	fixture_close(&fx);
}

/*
 * --- files of --checks -----------------------------------------------------------------------------------------------
 */

static void write_file(const char *dir, const char *name, const char *text)
{
	char *path = xprintf("%s/%s", dir, name);
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
	free(path);
}

#define HEADER "-- title: t\n-- severity: warning\n-- claim: c\n-- unverifiable: u\n-- remedy: r\n--   and more\n"
#define SUBJECTS "SELECT 'orders' AS pipeline, NULL AS reason, 3 AS n;\n"
#define FINDINGS(detail)                                                                                     \
	"SELECT 'orders' AS pipeline, 'orders' AS topic, 1 AS partition, 2 AS offset, NULL AS key, NULL AS " \
	"redis_key, "                                                                                        \
	"NULL AS identity, '" detail "' AS detail, '{}' AS evidence;\n"

static const struct {
	const char *name, *file, *text,
		*said; /* said: of the check, or the trouble of the whole where it begins with ! */
} files[] = {
	{ "one more", "mine.sql", HEADER SUBJECTS FINDINGS("so"), "fail 1 so r and more" },
	{ "over an old one", "fence-ahead.sql", HEADER SUBJECTS FINDINGS("over"), "fail 1 over r and more" },
	{ "two pipelines", "mine.sql", HEADER "SELECT 'other' AS pipeline, NULL AS reason, 3 AS n;\n" FINDINGS("so"),
	  "error check DIR/mine.sql: speaks of a pipeline \"other\" that the run does not have" },
	{ "writes", "mine.sql", HEADER SUBJECTS "DELETE FROM finding RETURNING 1;",
	  "error check DIR/mine.sql: statement 2 does more than read" },
	{ "ends the transaction", "mine.sql", HEADER SUBJECTS "COMMIT;",
	  "error check DIR/mine.sql: statement 2 does more than read" },
	{ "lacks a column", "mine.sql", HEADER "SELECT 'orders' AS pipeline, 3 AS n;\n" FINDINGS("so"),
	  "error check DIR/mine.sql: statement 1 has no column \"reason\"" },
	{ "lacks a finding's column", "mine.sql", HEADER SUBJECTS "SELECT 'orders' AS pipeline;",
	  "error check DIR/mine.sql: statement 2 has no column \"topic\"" },
	{ "has one statement", "mine.sql", HEADER SUBJECTS,
	  "error check DIR/mine.sql: has 1 statement; a check has one for its subjects and one for its findings" },
	{ "has four", "mine.sql", HEADER SUBJECTS FINDINGS("so") "SELECT 'orders' AS pipeline, 1 AS n; SELECT 1;",
	  "error check DIR/mine.sql: has more than 3 statements" },
	{ "is no SQL", "mine.sql", HEADER "SELEKT 1;",
	  "error check DIR/mine.sql: statement 1: near \"SELEKT\": syntax error" },
	{ "fails at work", "mine.sql",
	  HEADER SUBJECTS "SELECT 'orders' AS pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, "
			  "NULL AS redis_key, NULL AS identity, json_extract('{', '$') AS detail, '{}' AS evidence;",
	  "error check DIR/mine.sql: read: index in memory: malformed JSON (SQLite code 1)" },
	{ "counts more than it shows", "mine.sql",
	  HEADER SUBJECTS FINDINGS("so") "SELECT 'orders' AS pipeline, 70 AS n;", "fail 70 so r and more" },
	{ "lacks a header", "mine.sql", "-- title: t\n-- severity: error\n-- claim: c\n-- remedy: r\n" SUBJECTS,
	  "!check DIR/mine.sql: the header \"-- unverifiable: ...\" is missing" },
	{ "has a wrong severity", "mine.sql",
	  "-- title: t\n-- severity: bad\n-- claim: c\n-- unverifiable: u\n-- remedy: r\n" SUBJECTS,
	  "!check DIR/mine.sql: severity \"bad\"; valid: info, warning, error" },
	{ "has a header twice", "mine.sql", HEADER "-- claim: d\n" SUBJECTS,
	  "!check DIR/mine.sql: the header \"claim\" stands twice" },
};

/* text with each DIR put in. The caller frees. */
static char *with_dir(const char *text, const char *dir)
{
	const char *at = strstr(text, "DIR");

	return at ? xprintf("%.*s%s%s", (int)(at - text), text, dir, at + 3) : xstrdup(text);
}

static void try_file(size_t i)
{
	char dir[] = "/tmp/test_checks.XXXXXX", *path, *want, *got;
	struct world *w = world_new();
	struct trouble t = { 0 };
	struct fixture fx;
	struct analyzer_options options = { .checks_dir = dir };

	assert_non_null(mkdtemp(dir));
	write_file(dir, files[i].file, files[i].text);
	path = xprintf("%s/%s", dir, files[i].file);
	want = with_dir(files[i].said, dir);
	plain(w);
	fixture_open(&fx);
	fixture_add(&fx, w);
	if (analyzer_check(&fx.run, fx.db, &options, &t) < 0)
		got = xprintf("!%s", t.text);
	else
		got = text_of(&fx,
			      "SELECT status || coalesce(' ' || trouble, ' ' || findings || ' ' || (SELECT detail || ' "
			      "' || remedy FROM finding)) "
			      "FROM check_result WHERE ordinal = (SELECT max(ordinal) FROM check_result) OR findings");
	if (strcmp(got, want) != 0)
		fail_msg("%s: said: %s, wanted: %s", files[i].name, got, want);
	/* A check that fails stops none of the others, and makes the run incomplete. */
	if (strncmp(want, "error", 5) == 0) {
		assert_text(&fx, "SELECT count(*) FROM check_result WHERE status = 'error'", "1");
		assert_text(&fx, "SELECT count(*) FROM trouble WHERE stage = 'check'", "1");
		assert_text(&fx, "SELECT count(*) FROM finding", "0");
	}
	free(got);
	free(want);
	remove(path);
	rmdir(dir);
	free(path);
	fixture_close(&fx);
	world_free(w);
}

static void test_files(void **state)
{
	(void)state;
	name_keys();
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		try_file(i);
}

static void test_only(void **state)
{
	const char *some[] = { "fence-ahead", "lso-stuck" }, *none[] = { "fence-abroad" };
	struct analyzer_options options = { .only = some, .only_count = 2 };
	struct trouble t = { 0 };
	struct fixture fx;

	(void)state;
	run_world(&fx, plain, nothing);
	must(analyzer_check(&fx.run, fx.db, &options, &t), &t);
	assert_text(&fx, "SELECT group_concat(name) FROM check_result", "fence-ahead,lso-stuck");
	options = (struct analyzer_options){ .only = none, .only_count = 1 };
	assert_int_equal(analyzer_check(&fx.run, fx.db, &options, &t), -1);
	assert_string_equal(t.text, "there is no check \"fence-abroad\"");
	assert_text(&fx, "SELECT group_concat(name) FROM check_result", "fence-ahead,lso-stuck");
	fixture_close(&fx);
}

static void count_check(void *context, const struct check_text *check)
{
	assert_true(*check->title && *check->claim && *check->unverifiable && *check->remedy && *check->sql);
	++*(int *)context;
}

static void test_list(void **state)
{
	struct trouble t = { 0 };
	int n = 0;

	(void)state;
	must(analyzer_checks(NULL, count_check, &n, &t), &t);
	assert_int_equal(n, 25);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),     cmocka_unit_test(test_evidence), cmocka_unit_test(test_ids),
		cmocka_unit_test(test_results),   cmocka_unit_test(test_most_findings), cmocka_unit_test(test_files),
		cmocka_unit_test(test_only),      cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * check_spoils: what is broken in a world so that a check must say so.
 */
#ifndef TESTS_UNIT_CHECK_SPOILS_H
#define TESTS_UNIT_CHECK_SPOILS_H

#include "check_worlds.h"

static inline void nothing(struct world *w)
{
	(void)w;
}

static inline void fence_set_back(struct world *w) { world_set(w, A, 0, 3); }
static inline void fence_one_back(struct world *w) { world_set(w, A, 0, 9); }
static inline void fence_two_back(struct world *w) { world_set(w, A, 0, 6); }
static inline void fence_of_one_gone(struct world *w) { world_absent(w, S); }
static inline void fence_on_other_record(struct world *w) { world_set(w, B, 1, 13); }
static inline void fence_off_home(struct world *w)
{
	world_set(w, A, 0, 12);
	world_put_in(&w->topic[0], 1, S, 5000);
	world_set(w, S, 1, 15);
	w->topic[0].part[1].committed = 16;
}
static inline void empty_gone(struct world *w) { world_absent(w, ""); }
static inline void empty_one_back(struct world *w) { world_set(w, "", 1, 15); }
static inline void hash_gone(struct world *w) { world_absent(w, C); }
static inline void hash_of_a_gone(struct world *w) { world_absent(w, A); }
/* Asked for after the ends had been read. */
static inline void hash_gone_late(struct world *w) { world_absent(w, C)->fact.sampled_us = w->run_us + 150; }
static inline void waiting_fence_gone_late(struct world *w) { world_absent(w, N)->fact.sampled_us = w->run_us + 150; }
static inline void fence_beyond(struct world *w) { world_set(w, D, 3, 15); }
static inline void fence_in_no_partition(struct world *w) { world_set(w, D, 7, 3); }
static inline void stray(struct world *w) { world_set(w, S, 2, 3); }
static inline void stray_below(struct world *w) { world_set(w, S, 2, 50); }
static inline void fence_on_marker(struct world *w) { world_set(w, A, 0, 16); }
static inline void fence_on_aborted(struct world *w) { world_set(w, A, 0, 15); }
static inline void fences_on_aborted_and_highest(struct world *w) { fence_on_aborted(w); world_set(w, D, 0, INT64_MAX); }
static inline void fence_unstable(struct world *w) { world_set(w, B, 1, 17); }
static inline void hash_of_b_gone(struct world *w) { world_absent(w, B); }
static inline void value_other(struct world *w) { world_fence_of(w, A)->fact.value_hash++; }
static inline void value_gone(struct world *w) { world_fence_of(w, A)->fact.value_hash = UNKNOWN; }
static inline void number_more(struct world *w) { world_fence_of(w, A)->fact.value_number++; }
static inline void number_less(struct world *w) { world_fence_of(w, A)->fact.value_number--; }
static inline void number_with_ttl(struct world *w) { number_more(w); world_fence_of(w, A)->fact.ttl_ms = 900000000; }
static inline void ttl_short(struct world *w) { world_fence_of(w, A)->fact.ttl_ms = 900000; }
static inline void field_ttl_short(struct world *w) { world_fence_of(w, A)->fact.field_ttl_ms = 900000; }
static inline void moved_fence_back(struct world *w) { world_set(w, M, 1, 3); }
static inline void moved_fence_low(struct world *w) { world_set(w, M, 5, 0); }
static inline void moved_fence_gone(struct world *w) { world_absent(w, M); }
static inline void waiting_fence_low(struct world *w) { world_set(w, N, 1, 0); }
static inline void waiting_fence_gone(struct world *w) { world_absent(w, N); }
static inline void wrong_partition(struct world *w)
{
	world_put_in(&w->topic[0], 2, A, 9000);
	world_put_in(&w->topic[0], 2, A, 9100);
	w->topic[0].part[2].committed = 17;
}
static inline void count_other(struct world *w) { w->topic[1].partitions = w->topic[1].fact.partitions = 5; }
static inline void split(struct world *w) { world_put_in(&w->topic[1], 3, A, 9000); }
static inline void epoch_word(struct world *w)
{
	w->epoch[1].fact.value = UNKNOWN;
	w->epoch[1].fact.malformed = "not-decimal";
}
static inline void epoch_gone(struct world *w) { w->epoch[2].fact.value = UNKNOWN; w->epoch[2].fact.present = 0; }
static inline void epoch_lower(struct world *w) { w->epoch[3].fact.value = 5; }
static inline void commit_gone(struct world *w) { w->topic[0].part[1].committed = UNKNOWN; }
static inline void commit_lower(struct world *w) { w->topic[0].part[1].committed = 9; }
static inline void commit_beyond(struct world *w) { w->topic[0].part[1].committed = 30; }
static inline void commit_expired(struct world *w) { w->topic[0].part[1].committed = 9; w->topic[0].part[1].log_start = 12; }
static inline void commit_expired_long_ago(struct world *w) { w->topic[0].part[1].committed = 90; }

static inline void fence_unreadable(struct world *w)
{
	struct world_fence *f = world_set(w, A, 0, 12);

	f->fact.partition = f->fact.offset = UNKNOWN;
	f->fact.malformed = "offset is not-decimal";
	f->fact.offset_raw = (struct bytes){ "x12", 3 };
}

static inline void wrong_type(struct world *w)
{
	world_absent(w, A);
	world_fence_of(w, A)->fact.present = 1;
	world_fence_of(w, A)->fact.type = "string";
}

static inline void not_looked_at(struct world *w)
{
	*world_fence_of(w, A) = w->fence[--w->fences];
}

static inline void late_fence_in_no_partition(struct world *w)
{
	world_set(w, D, 7, 3)->fact.sampled_us = w->run_us + 150;
}

static inline void fence_at_older_tombstone(struct world *w)
{
	world_set(w, A, 0, 12)->fact.value_number = 5;
}

static inline void fence_on_compacted(struct world *w) { world_set(w, A, 0, 0); }
static inline void count_of_moved(struct world *w) { world_fence_of(w, M)->fact.value_number++; }
static inline void count_unknown(struct world *w) { w->topic[0].fact.partitions = UNKNOWN; }

static inline void end_fell(struct world *w)
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

#endif

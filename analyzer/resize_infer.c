/*
 * resize_infer: counts that nobody knew of, out of the history.
 *
 * Each count n below the present one is a candidate where records came before the first one at or above n. Up to 4,096
 * keys of those records are looked at, in two ways: the earliest of each partition, and the latest before that moment.
 * A candidate is taken where it, together with the counts known, explains them far better than those do alone, where
 * it and smaller counts placed more of the keys than larger ones did (before a change nobody can know the new count),
 * and where no other partitioner under the present count explains them as well. The best one is taken first, and the
 * rest are asked again.
 *
 * Where no record is in a partition at or above n at all, everything is from before: an audit that comes soon after a
 * change sees that, since producers take minutes to learn of it.
 *
 * One partition takes every key, so what stands there before the others begin proves nothing by itself. It is taken for
 * a count of one where its keys stand at random, and those of the other partitions, later, at home.
 *
 * A topic that was never resized does not pass: its keys are at home under the present count, which leaves nothing to
 * explain; and where its producers use another partitioner, its keys agree with a candidate no more than chance does.
 */
#include "analyzer/resize_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/resize_fit.h"
#include "sql/db.h"
#include "sql/keyhash.h"
#include "sql/mem.h"

enum { SETS_MOST = 16, KEYS_MOST = 4096, SLOTS = 16384, PARTITIONS_MOST = 16, CHUNKS_MOST = 16, KEYS_LEAST = 8 };

/* Looked at in one partition, more or less: a full chunk. */
enum { RECORDS_MOST = CHUNK_RECORDS_MAX };

/* Chance passes for a change no more often than this, whatever is tried. */
#define ALPHA 1e-6

/* A key in a partition. */
struct proof_key {
	int64_t hash;
	uint32_t dividend;
	int32_t partition;
	uint32_t others;         /* bit i: partitioners[i] puts it there, under the present count */
};

_Static_assert(PARTITIONER_COUNT <= 32, "partitioners fit a mask");

/* Records from before a partition began, and the counts that they can speak for. */
struct proof {
	int32_t from, to;        /* counts [from, to): the first record at or above each is the same one */
	int32_t low, high;       /* partitions [low, high) are looked at */
	int64_t begin_ms, gap_ms; /* when that record came; how long after the first one at or above from - 1 */
	bool latest;             /* the latest before it, not the earliest */
	struct proof_key *keys;
	size_t n;
	uint16_t *slots;         /* index + 1 by hash, while keys are collected */
};

struct proofs {
	struct proof *at;
	size_t n;
	double candidates;       /* of all of them */
	struct proof rest;       /* the earliest of partitions 1 and above, where one may have been all there was */
};

/* --- collecting keys ---------------------------------------------------------------------------------------------- */

static uint32_t others_of(const struct resize *r, const void *key, size_t size, int32_t partition)
{
	struct placer placer = r->topic->placer;
	const struct partitioner *mine = placer.partitioner;
	uint32_t mask = 0;

	for (int i = 0; i < PARTITIONER_COUNT; i++) {
		placer.partitioner = &partitioners[i];
		if (placer.partitioner != mine && placer_partition(&placer, key, size, r->count) == partition)
			mask |= (uint32_t)1 << i;
	}
	return mask;
}

static void add_key(const struct resize *r, struct proof *proof, int32_t partition, const void *key, size_t size)
{
	struct proof_key new = { .hash = key_hash(key, size), .partition = partition };
	size_t slot = ((size_t)new.hash + (size_t)partition * 7919) % SLOTS;

	for (; proof->slots[slot]; slot = (slot + 1) % SLOTS) {
		const struct proof_key *there = &proof->keys[proof->slots[slot] - 1];

		if (there->hash == new.hash && there->partition == partition)
			return;
	}
	if (!placer_dividend(&r->topic->placer, key, size, &new.dividend))
		return;
	new.others = others_of(r, key, size, partition);
	proof->keys[proof->n++] = new;
	proof->slots[slot] = (uint16_t)proof->n;
}

/* The part's records from before the moment, until the proof has so many keys. */
static void add_part(const struct resize *r, struct proof *proof, int32_t partition, const struct chunk_part *part,
		     size_t most)
{
	const struct chunk_view *view = part->view;

	for (size_t j = part->from; j < part->to && proof->n < most; j++) {
		size_t i = proof->latest ? part->to - 1 - (j - part->from) : j;

		if (view->timestamp_ms[i] < proof->begin_ms && !(view->flags[i] & RECORD_NULL_KEY))
			add_key(r, proof, partition, view->key_bytes + view->key_at[i],
				view->key_at[i + 1] - view->key_at[i]);
	}
}

static struct chunk_place place_of(const struct resize *r, int32_t partition)
{
	return (struct chunk_place){ r->topic->incarnation_id, partition, CHUNK_COMMITTED };
}

static int64_t indexed_end(const struct resize *r, int32_t partition)
{
	const struct fold_partition *part = fold_topic_part(r->topic, partition);

	return part && part->indexed_end != UNKNOWN ? part->indexed_end : 0;
}

static int add_earliest(struct resize *r, struct proof *proof, int32_t partition, size_t most, struct trouble *t)
{
	struct chunk_part part;
	size_t records = 0;
	int more = 1;

	chunk_scan_range(r->scan, place_of(r, partition), 0, indexed_end(r, partition));
	chunk_scan_times(r->scan, INT64_MIN, proof->begin_ms);
	for (int i = 0; i < CHUNKS_MOST && records < RECORDS_MOST && proof->n < most && more > 0; i++) {
		more = chunk_scan_next(r->scan, &part, t);
		if (more == 0)
			continue;
		add_part(r, proof, partition, &part, most);
		records += part.to - part.from;
	}
	return more < 0 ? -1 : 0;
}

static int add_latest(struct resize *r, struct proof *proof, int32_t partition, size_t most, struct trouble *t)
{
	struct chunk_part part;
	size_t records = 0;
	int more;

	db_bind_int(r->before, 1, r->topic->incarnation_id);
	db_bind_int(r->before, 2, partition);
	db_bind_int(r->before, 3, indexed_end(r, partition));
	db_bind_int(r->before, 4, proof->begin_ms);
	db_bind_int(r->before, 5, CHUNKS_MOST);
	while ((more = db_step(r->before, t)) > 0 && records < RECORDS_MOST && proof->n < most) {
		chunk_scan_range(r->scan, place_of(r, partition), db_int(r->before, 0), db_int(r->before, 1));
		more = chunk_scan_next(r->scan, &part, t);
		if (more < 0)
			break;
		if (more == 0)
			continue;
		add_part(r, proof, partition, &part, most);
		records += part.to - part.from;
	}
	sqlite3_reset(r->before);
	return more < 0 ? -1 : 0;
}

static bool has_before(const struct resize *r, const struct proof *proof, int32_t partition)
{
	return r->start[partition].ms != UNKNOWN && r->start[partition].ms < proof->begin_ms;
}

static int collect(struct resize *r, struct proof *proof, struct trouble *t)
{
	size_t partitions = 0, met = 0, share;
	int result = 0;

	for (int32_t p = proof->low; p < proof->high; p++)
		partitions += has_before(r, proof, p);
	if (partitions > PARTITIONS_MOST)
		partitions = PARTITIONS_MOST;
	share = partitions ? KEYS_MOST / partitions : 0;
	proof->keys = xarray(KEYS_MOST, sizeof(*proof->keys));
	proof->slots = xarray(SLOTS, sizeof(*proof->slots));
	for (int32_t p = proof->low; p < proof->high && met < partitions && result == 0; p++) {
		if (!has_before(r, proof, p))
			continue;
		if (run_stopped(r->run))
			return trouble_set(t, "stopped");
		met++;
		result = proof->latest ? add_latest(r, proof, p, proof->n + share, t)
				       : add_earliest(r, proof, p, proof->n + share, t);
	}
	free(proof->slots);
	proof->slots = NULL;
	return result;
}

/* --- which records can prove something ---------------------------------------------------------------------------- */

static int by_gap(const void *a, const void *b)
{
	const struct proof *x = a, *y = b;

	if (x->gap_ms != y->gap_ms)
		return x->gap_ms > y->gap_ms ? -1 : 1;
	return x->from - y->from;
}

/* The counts from n on that have the same first record. */
static struct proof proof_at(const struct resize *r, int32_t n)
{
	struct proof proof = { .from = n, .to = n + 1, .high = n, .begin_ms = resize_begin_ms(r, n) };
	int32_t below = n > 1 ? r->first_at[n - 1] : 0;

	while (proof.to < r->count && r->first_at[proof.to] == r->first_at[n])
		proof.to++;
	if (resize_is_unused(r, n))
		proof.begin_ms = proof.gap_ms = INT64_MAX;
	else if (r->first_at[n] >= 0 && r->start[below].ms != UNKNOWN)
		proof.gap_ms = r->start[r->first_at[n]].ms - r->start[below].ms;
	return proof;
}

/* There is a record below n from before any above it. Where there are none above, nobody may have known of them yet. */
static bool can_prove(const struct resize *r, int32_t n)
{
	return resize_is_unused(r, n) || (r->first_at[n] >= 0 && resize_has_before(r, n, resize_begun_ms(r, n)));
}

/* Of many, those are taken that began longest after all below them: partitions of a new topic begin together. */
static void list(const struct resize *r, struct proofs *proofs)
{
	size_t kept;

	for (int32_t n = 1; n < r->count;) {
		struct proof proof = proof_at(r, n);

		if (can_prove(r, n)) {
			proofs->at = xgrow(proofs->at, proofs->n + 1, sizeof(*proofs->at));
			proofs->at[proofs->n++] = proof;
		}
		n = proof.to;
	}
	if (!proofs->n)
		return;
	if (proofs->at[0].from == 1)
		proofs->rest = (struct proof){ .low = 1, .high = r->count, .begin_ms = INT64_MAX };
	qsort(proofs->at, proofs->n, sizeof(*proofs->at), by_gap);
	kept = proofs->n > SETS_MOST ? SETS_MOST : proofs->n;
	proofs->at = xgrow(proofs->at, kept * 2, sizeof(*proofs->at));
	for (size_t i = 0; i < kept; i++) {
		proofs->at[kept + i] = proofs->at[i];
		proofs->at[kept + i].latest = true;
		if (!resize_is_unused(r, proofs->at[i].from))
			proofs->at[i].begin_ms = resize_begun_ms(r, proofs->at[i].from);
		proofs->candidates += 2 * (proofs->at[i].to - proofs->at[i].from);
	}
	proofs->n = kept * 2;
}

/* --- judging ------------------------------------------------------------------------------------------------------ */

/* The best candidate so far. */
struct candidate {
	int32_t count;           /* 0: none */
	double gain;
	struct fold_resize resize;
};

static bool is_home(const struct proof_key *key, int32_t count)
{
	return key->dividend % (uint32_t)count == (uint32_t)key->partition;
}

static void known_counts(const struct fold_topic *topic, struct fit *fit)
{
	*fit = (struct fit){ 0 };
	for (size_t i = 0; i < topic->count_n && fit->count_n < FIT_COUNTS - 1; i++)
		if (topic->count[i] > 0)
			fit->count[fit->count_n++] = topic->count[i];
}

static unsigned known_class(const struct fit *known, const struct proof_key *key)
{
	unsigned class = 0;

	for (int i = 0; i < known->count_n; i++)
		class |= (unsigned)is_home(key, known->count[i]) << i;
	return class;
}

/* Whether the count, which is the last one, and smaller ones placed more than larger ones did. */
static bool outweighs(const struct fit *fit)
{
	int32_t count = fit->count[fit->count_n - 1];
	double larger = 0, others = 0;

	for (int i = 0; i < fit->count_n; i++)
		*(fit->count[i] > count ? &larger : &others) += fit->share[i];
	return others > larger;
}

/* The greatest likelihood with another partitioner beside the known counts. */
static double best_other(const struct resize *r, const struct proof *proof, const struct fit *known)
{
	double best = 0;

	for (int i = 0; i < PARTITIONER_COUNT; i++) {
		struct fit fit = { .count_n = known->count_n + 1 };
		double likelihood;

		memcpy(fit.count, known->count, sizeof(fit.count));
		fit.count[known->count_n] = r->count;
		for (size_t j = 0; j < proof->n; j++)
			fit.keys[known_class(known, &proof->keys[j]) |
				 (proof->keys[j].others >> i & 1) << known->count_n]++;
		likelihood = fit_solve(&fit);
		if (likelihood > best)
			best = likelihood;
	}
	return best;
}

static size_t at_home_now(const struct proof *proof, const struct fit *known)
{
	size_t n = 0;

	for (size_t i = 0; i < proof->n; i++)
		n += known_class(known, &proof->keys[i]) != 0;
	return n;
}

/* Logarithm of the likelihood of n among all, with the share that makes it greatest. */
static double likelihood_of(double n, double all)
{
	return (n > 0 ? n * log(n / all) : 0) + (n < all ? (all - n) * log((all - n) / all) : 0);
}

/* Whether partition 0 was alone: nine of ten keys of the other partitions are at home, and there far fewer are. */
static void judge_one(const struct resize *r, const struct proof *proof, const struct proof *rest, double least,
		      struct candidate *best)
{
	struct fit known;
	double here, there, all_here, all_there, gain;

	known_counts(r->topic, &known);
	here = (double)at_home_now(proof, &known);
	there = (double)at_home_now(rest, &known);
	all_here = (double)proof->n;
	all_there = (double)rest->n;
	if (all_here < KEYS_LEAST || there * 10 < all_there * 9 || here * all_there >= there * all_here)
		return;
	gain = likelihood_of(here, all_here) + likelihood_of(there, all_there) -
	       likelihood_of(here + there, all_here + all_there);
	if (gain < least || gain <= best->gain)
		return;
	*best = (struct candidate){ 1, gain, { .from = 1, .source = RESIZE_HISTORY, .proof_keys = (int64_t)proof->n,
					       .proof_from = (int64_t)proof->n,
					       .proof_alone = (int64_t)(all_here - here) } };
}

/* How many keys no known count explains and this one does: without enough of them no fit need be made. */
static uint32_t explained(const struct proof *proof, const struct fit *known, int32_t count)
{
	uint32_t n = 0;

	for (size_t i = 0; i < proof->n; i++)
		n += is_home(&proof->keys[i], count) && known_class(known, &proof->keys[i]) == 0;
	return n;
}

static void judge(const struct resize *r, const struct proof *proof, int32_t count, double least,
		  struct candidate *best)
{
	struct fit known, fit;
	double before, gain;
	int64_t at_home = 0;
	uint32_t alone;

	known_counts(r->topic, &known);
	alone = explained(proof, &known, count);
	if (alone < KEYS_LEAST)
		return;
	fit = known;
	fit.count[fit.count_n++] = count;
	for (size_t i = 0; i < proof->n; i++) {
		unsigned class = known_class(&known, &proof->keys[i]);
		bool home = is_home(&proof->keys[i], count);

		known.keys[class]++;
		fit.keys[class | (unsigned)home << known.count_n]++;
		at_home += home;
	}
	before = fit_solve(&known);
	gain = fit_solve(&fit) - before;
	if (gain < least || gain <= best->gain || !outweighs(&fit) || before + gain <= best_other(r, proof, &known))
		return;
	*best = (struct candidate){ count, gain, { .from = count, .source = RESIZE_HISTORY,
						   .proof_keys = (int64_t)proof->n, .proof_from = at_home,
						   .proof_alone = alone } };
}

static bool is_known(const struct fold_topic *topic, int32_t count)
{
	for (size_t i = 0; i < topic->count_n; i++)
		if (topic->count[i] == count)
			return true;
	return false;
}

static void find_best(const struct resize *r, const struct proofs *proofs, struct candidate *best)
{
	double least = log(proofs->candidates * FIT_COUNTS / ALPHA);

	for (size_t i = 0; i < proofs->n; i++)
		for (int32_t n = proofs->at[i].from; n < proofs->at[i].to; n++)
			if (is_known(r->topic, n))
				continue;
			else if (n == 1)
				judge_one(r, &proofs->at[i], &proofs->rest, least, best);
			else
				judge(r, &proofs->at[i], n, least, best);
}

static void add_count(struct fold_topic *topic, const struct fold_resize *resize)
{
	size_t n = topic->count_n++;

	topic->count = xgrow(topic->count, topic->count_n, sizeof(*topic->count));
	topic->count[n] = resize->from;
	for (size_t i = 0; i < topic->part_n; i++) {
		struct fold_partition *part = &topic->parts[i];

		part->certain = xgrow(part->certain, topic->count_n, sizeof(*part->certain));
		part->stale_from = xgrow(part->stale_from, topic->count_n, sizeof(*part->stale_from));
		part->certain[n] = 0;
		part->stale_from[n] = INT64_MAX;
	}
	topic->resizes = xgrow(topic->resizes, topic->resize_n + 1, sizeof(*topic->resizes));
	topic->resizes[topic->resize_n++] = *resize;
}

static void release(struct proofs *proofs)
{
	for (size_t i = 0; i < proofs->n; i++) {
		free(proofs->at[i].keys);
		free(proofs->at[i].slots);
	}
	free(proofs->at);
	free(proofs->rest.keys);
	free(proofs->rest.slots);
}

int resize_infer(struct resize *r, struct trouble *t)
{
	struct proofs proofs = { 0 };
	int result = 0;
	bool found = true;

	list(r, &proofs);
	for (size_t i = 0; i < proofs.n && result == 0; i++)
		result = collect(r, &proofs.at[i], t);
	if (result == 0 && proofs.rest.high)
		result = collect(r, &proofs.rest, t);
	while (result == 0 && found && proofs.n && r->topic->count_n < FIT_COUNTS) {
		struct candidate best = { 0 };

		find_best(r, &proofs, &best);
		found = best.count > 0;
		if (found)
			add_count(r->topic, &best.resize);
	}
	release(&proofs);
	return result;
}

/* attribute: round by round, until no hypothesis is accepted. */
#include "analyzer/attribute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "analyzer/attribute_left.h"
#include "analyzer/attribute_share.h"
#include "analyzer/hypotheses.h"
#include "analyzer/rival.h"
#include "sql/mem.h"

enum { RIVALS_MOST = 256, NARROWED_MOST = 32, KEYS_LEAST = 256, REDUCTIONS = 1000000 };

struct round {
	const struct attribute_input *in;
	const struct hypotheses_counts *counts;
	struct rival_scene scene;
	struct attribute_placement placed[ATTRIBUTE_CAUSES + 1]; /* the own one, then those of earlier causes */
	struct key_bytes *key;
	int32_t *partition;
	struct hypotheses h;
	double bound; /* ln(H / ALPHA) */
	struct rival *rivals;
	size_t rival_n, more;
};

/* --- the keys of a round ----------------------------------------------------------------------------------------- */

static int by_partition(const void *a, const void *b)
{
	const struct attribute_seen *x = *(const struct attribute_seen *const *)a,
				    *y = *(const struct attribute_seen *const *)b;

	if (x->partition != y->partition)
		return x->partition < y->partition ? -1 : 1;
	return (x > y) - (x < y);
}

static size_t keys_most(size_t counts)
{
	size_t most = REDUCTIONS / counts;

	return most < KEYS_LEAST ? KEYS_LEAST : most > ATTRIBUTE_SAMPLE ? ATTRIBUTE_SAMPLE : most;
}

static void take_keys(struct round *round, const uint8_t *label)
{
	const struct attribute_seen **seen;
	size_t most = keys_most(round->counts->n), n = 0;

	seen = xarray(most, sizeof(*seen));
	for (size_t i = 0; i < round->in->seen_n && n < most; i++)
		if (label[i] == ATTRIBUTE_NONE)
			seen[n++] = &round->in->seen[i];
	qsort(seen, n, sizeof(*seen), by_partition);
	round->key = xarray(n, sizeof(*round->key));
	round->partition = xarray(n, sizeof(*round->partition));
	for (size_t i = 0; i < n; i++) {
		round->key[i] = seen[i]->key;
		round->partition[i] = seen[i]->partition;
	}
	round->scene.keys = (struct hypotheses_keys){ round->key, round->partition, n };
	free(seen);
}

/* out: the causes found so far. */
static void begin_round(struct round *round, const struct attribute_result *out)
{
	round->placed[0] = (struct attribute_placement){ round->in->own, round->in->partitions, 0 };
	for (size_t i = 0; i < out->n; i++)
		round->placed[i + 1] = out->cause[i].placements[0];
	take_keys(round, out->label);
	round->scene.sampled = round->in->sampled;
	round->scene.sampled_n = round->in->sampled_n;
	round->scene.partitions = round->in->partitions;
	round->scene.placed = round->placed;
	round->scene.placed_n = out->n + 1;
	rival_scene_prepare(&round->scene);
}

/* --- which hypotheses -------------------------------------------------------------------------------------------- */

static struct attribute_placement placement_at(const struct round *round, size_t index)
{
	return (struct attribute_placement){ round->h.placers[index / round->counts->n],
					     round->counts->count[index % round->counts->n], 0 };
}

/* Of a hypothesis by its index in matched: the score to compare it, and the one to accept it. */
static double score_of(const struct round *round, size_t index)
{
	return rival_score(round->h.matched[index], round->h.held[index / round->counts->n],
			   1.0 / round->in->partitions);
}

static double accept_score(const struct round *round, size_t index)
{
	int32_t count = round->counts->count[index % round->counts->n], n = round->in->partitions;

	return rival_score(round->h.matched[index], round->h.held[index / round->counts->n],
			   1.0 / (count < n ? count : n));
}

/* Index of the accepted hypothesis with the highest score, or SIZE_MAX. */
static size_t best(const struct round *round)
{
	size_t found = SIZE_MAX, n = round->h.placer_n * round->counts->n;
	double most = 0;

	for (size_t i = 0; i < n; i++) {
		double score;

		if (round->h.matched[i] < ATTRIBUTE_LEAST || accept_score(round, i) <= round->bound)
			continue;
		score = score_of(round, i);
		if (score > most) {
			most = score;
			found = i;
		}
	}
	return found;
}

/* Of a part of the key that takes few values all hypotheses go; of the whole key, the one that is lucky. */
static void forget(struct round *round, size_t index)
{
	enum keypart part = round->h.placers[index / round->counts->n].part;

	round->h.matched[index] = 0;
	for (size_t i = 0; part != KEYPART_WHOLE && i < round->h.placer_n; i++)
		if (round->h.placers[i].part == part)
			memset(round->h.matched + i * round->counts->n, 0,
			       round->counts->n * sizeof(*round->h.matched));
}

/* The same, with the evidence of distinct parts of the key, and against the luck of the hypothesis itself. */
static size_t best_proven(struct round *round)
{
	size_t found;

	while ((found = best(round)) != SIZE_MAX) {
		struct attribute_placement at = placement_at(round, found);
		struct rival rival = rival_of(&round->scene, &at, 0);
		bool proven = rival_evidence(&round->scene, &rival, NULL) > round->bound;

		rival_release(&rival);
		if (proven)
			break;
		forget(round, found);
	}
	return found;
}

/* Whether a score is not ruled out beside the best one. */
static bool is_near(double score, double most)
{
	return most - score <= -log(ATTRIBUTE_ALPHA);
}

static int rank_of_count(const struct attribute_input *in, int32_t count)
{
	if (count == in->partitions)
		return 0;
	for (size_t i = 0; i < in->known_n; i++)
		if (in->known[i] == count)
			return 1;
	return 2;
}

static int64_t rank_of(const struct attribute_input *in, const struct attribute_placement *at)
{
	bool own = placer_same(&at->placer, &in->own);
	int64_t rank = at->placer.part != KEYPART_WHOLE && !own;

	rank = rank * 3 + rank_of_count(in, at->partitions);
	rank = rank * 2 + !own;
	rank = rank * PARTITIONER_COUNT + (at->placer.partitioner - partitioners);
	rank = rank * KEYPART_COUNT + at->placer.part;
	return rank * ((int64_t)INT32_MAX + 1) + at->partitions;
}

/* Keeps those of the simplest rank, in order. There is room for one more. */
static void add_rival(struct round *round, const struct attribute_placement *at, double score)
{
	int64_t rank = rank_of(round->in, at);
	size_t place = round->rival_n;

	while (place > 0 && rank_of(round->in, &round->rivals[place - 1].at) > rank)
		place--;
	memmove(&round->rivals[place + 1], &round->rivals[place], (round->rival_n - place) * sizeof(*round->rivals));
	round->rivals[place] = (struct rival){ .at = *at, .score = score };
	if (round->rival_n < RIVALS_MOST)
		round->rival_n++;
	else
		round->more++;
}

static void find_rivals(struct round *round, double most)
{
	size_t n = round->h.placer_n * round->counts->n;

	round->rivals = xarray(RIVALS_MOST + 1, sizeof(*round->rivals));
	for (size_t i = 0; i < n; i++) {
		struct attribute_placement at = placement_at(round, i);
		double score = round->h.matched[i] ? score_of(round, i) : 0;

		if (score > 0 && is_near(score, most))
			add_rival(round, &at, score);
	}
	for (size_t i = 0; i < round->rival_n; i++)
		round->rivals[i] = rival_of(&round->scene, &round->rivals[i].at, round->rivals[i].score);
}

static void drop_rival(struct round *round, size_t index)
{
	rival_release(&round->rivals[index]);
	memmove(&round->rivals[index], &round->rivals[index + 1], (--round->rival_n - index) * sizeof(*round->rivals));
}

/* Index of the accepted one among its rivals. Where there were too many of them it may be gone: then the simplest. */
static size_t lead_of(const struct round *round, const struct attribute_placement *at)
{
	for (size_t i = 0; i < round->rival_n; i++)
		if (placer_same(&round->rivals[i].at.placer, &at->placer) &&
		    round->rivals[i].at.partitions == at->partitions)
			return i;
	return 0;
}

/* One that leaves more of what the accepted one explains than luck would is no rival: it is another cause, or none. */
static void drop_others(struct round *round, const struct attribute_placement *at)
{
	struct rival lead = rival_of(&round->scene, at, 0);

	for (size_t i = round->rival_n; i-- > 0;)
		if (rival_evidence(&round->scene, &lead, &round->rivals[i]) > round->bound)
			drop_rival(round, i);
	rival_release(&lead);
}

/* The score of a placement among all keys that are left. */
static double score_of_all(const struct round *round, const struct attribute_placement *at, const uint8_t *label)
{
	size_t matched = 0, held = 0;

	for (size_t i = 0; i < round->in->seen_n; i++) {
		const struct attribute_seen *seen = &round->in->seen[i];
		int32_t said;

		if (label[i] != ATTRIBUTE_NONE)
			continue;
		said = placer_partition(&at->placer, seen->key.bytes, seen->key.len, at->partitions);
		held += said >= 0;
		matched += said == seen->partition;
	}
	return rival_score((double)matched, (double)held, 1.0 / round->in->partitions);
}

/* Holds rivals that are still several against all keys that are left. */
static void narrow(struct round *round, const struct attribute_placement *at, const uint8_t *label)
{
	double most = score_of_all(round, at, label);

	for (size_t i = round->rival_n; i-- > 0;)
		if (!is_near(score_of_all(round, &round->rivals[i].at, label), most))
			drop_rival(round, i);
}

/* --- classes ----------------------------------------------------------------------------------------------------- */

/* What the placement does with every key seen, as one number. */
static uint64_t signature_of(const struct round *round, const struct attribute_placement *at)
{
	size_t n = round->scene.keys.n + round->in->sampled_n;
	int32_t *partition = xarray(n, sizeof(*partition));
	uint64_t signature;

	for (size_t i = 0; i < n; i++) {
		struct key_bytes key =
			i < round->scene.keys.n ? round->key[i] : round->in->sampled[i - round->scene.keys.n];

		partition[i] = placer_partition(&at->placer, key.bytes, key.len, at->partitions);
	}
	signature = XXH3_64bits(partition, n * sizeof(*partition));
	free(partition);
	return signature;
}

static size_t classify(struct round *round)
{
	uint64_t *signature = xarray(round->rival_n, sizeof(*signature));
	size_t classes = 0;

	for (size_t i = 0; i < round->rival_n; i++) {
		size_t same = 0;

		signature[i] = signature_of(round, &round->rivals[i].at);
		while (signature[same] != signature[i])
			same++;
		round->rivals[i].at.class = same < i ? round->rivals[same].at.class : (uint32_t)classes++;
	}
	free(signature);
	return classes;
}

/* --- rounds ------------------------------------------------------------------------------------------------------ */

static void write_cause(const struct round *round, size_t classes, size_t lead, struct attribute_cause *cause)
{
	size_t n = round->rival_n < ATTRIBUTE_MEMBERS ? round->rival_n : ATTRIBUTE_MEMBERS;

	*cause = (struct attribute_cause){
		.placements = xarray(n, sizeof(*cause->placements)),
		.placement_n = 1,
		.more = round->rival_n - n + round->more,
		.classes = classes,
		.tested = round->scene.keys.n,
		.hypotheses = round->h.placer_n * round->counts->n,
	};
	cause->placements[0] = round->rivals[lead].at;
	for (size_t i = 0; cause->placement_n < n; i++)
		if (i != lead)
			cause->placements[cause->placement_n++] = round->rivals[i].at;
}

static bool find_cause(struct round *round, const uint8_t *label, struct attribute_cause *cause)
{
	struct attribute_placement at;
	size_t found, classes;

	hypotheses_match(&round->h, &round->scene.keys, round->counts);
	round->bound = log((double)(round->h.placer_n * round->counts->n) / ATTRIBUTE_ALPHA);
	found = best_proven(round);
	if (found == SIZE_MAX)
		return false;
	at = placement_at(round, found);
	find_rivals(round, score_of(round, found));
	drop_others(round, &at);
	classes = classify(round);
	if (classes > 1 && round->rival_n <= NARROWED_MOST) {
		narrow(round, &at, label);
		classes = classify(round);
	}
	write_cause(round, round->more && classes == 1 ? 2 : classes, lead_of(round, &at), cause);
	return true;
}

static void release_round(struct round *round)
{
	for (size_t i = 0; i < round->rival_n; i++)
		rival_release(&round->rivals[i]);
	free(round->rivals);
	free(round->key);
	free(round->partition);
	free(round->scene.taken);
	hypotheses_release(&round->h);
}

static void explain(const struct attribute_input *in, struct attribute_result *out)
{
	struct attribute_cause *cause = &out->cause[out->n];
	const struct attribute_placement *at = &cause->placements[0];

	cause->left = out->left;
	for (size_t i = 0; i < in->seen_n; i++) {
		const struct attribute_seen *seen = &in->seen[i];

		if (out->label[i] != ATTRIBUTE_NONE ||
		    placer_partition(&at->placer, seen->key.bytes, seen->key.len, at->partitions) != seen->partition)
			continue;
		out->label[i] = (uint8_t)out->n;
		cause->explained++;
	}
	out->left -= cause->explained;
	out->n++;
}

static bool next_cause(const struct attribute_input *in, const struct hypotheses_counts *counts,
		       struct attribute_result *out)
{
	struct round round = { .in = in, .counts = counts };
	bool found;

	begin_round(&round, out);
	found = find_cause(&round, out->label, &out->cause[out->n]);
	out->tested = found ? 0 : round.scene.keys.n;
	out->hypotheses = found ? 0 : round.h.placer_n * counts->n;
	release_round(&round);
	if (found)
		explain(in, out);
	return found;
}

void attribute(const struct attribute_input *in, struct attribute_result *out)
{
	struct hypotheses_counts counts;

	out->label = xarray(in->seen_n, sizeof(*out->label));
	memset(out->label, ATTRIBUTE_NONE, in->seen_n);
	out->left = in->seen_n;
	if (in->partitions < 2)
		return;
	hypotheses_counts(in->partitions, in->known, in->known_n, &counts);
	out->needed = 1 + (size_t)(log((double)(PARTITIONER_COUNT * counts.n) / ATTRIBUTE_ALPHA) / log(in->partitions));
	while (out->n < ATTRIBUTE_CAUSES && out->left >= ATTRIBUTE_LEAST && next_cause(in, &counts, out))
		;
	free(counts.count);
	attribute_left(in, out);
	if (out->n)
		attribute_share(in, out);
}

void attribute_release(struct attribute_result *out)
{
	for (size_t i = 0; i < out->n; i++)
		free(out->cause[i].placements);
	free(out->label);
	*out = (struct attribute_result){ 0 };
}

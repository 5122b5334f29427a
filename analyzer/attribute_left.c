/* attribute_left: how far from where a cause would put them the keys are that it does not explain. */
#include "analyzer/attribute_left.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sql/mem.h"

enum { KEYS_LEAST = 20, PAIRS_LEAST = 10, DEVIATIONS = 6 };

/* So many times as often as luck would: less could be what the causes found leave out. */
#define LIFT 1.2

/* The first keys that neither the cause nor one with the same hash explains, and that its placement can place. */
struct left {
	int32_t seen_n, said_n; /* partitions, and those of the placement */
	double *seen, *said;    /* keys in each partition, and in each where it would put them */
	double *distance;       /* keys by seen - said, modulo said_n */
	double n;
	size_t unplaced;        /* other keys: what the function takes, they are not */
};

/* Causes of one hash, such as one over two partition counts, go together without speaking against each other. */
static bool is_left(const struct attribute_result *out, uint8_t label, const struct attribute_placement *at)
{
	const struct placer *other;

	if (label == ATTRIBUTE_NONE)
		return true;
	other = &out->cause[label].placements[0].placer;
	return other->partitioner->hash != at->placer.partitioner->hash || other->part != at->placer.part;
}

static void count_left(const struct attribute_input *in, const struct attribute_result *out,
		       const struct attribute_placement *at, struct left *left)
{
	left->seen_n = in->partitions;
	left->said_n = at->partitions;
	left->seen = xarray((size_t)left->seen_n, sizeof(*left->seen));
	left->said = xarray((size_t)left->said_n, sizeof(*left->said));
	left->distance = xarray((size_t)left->said_n, sizeof(*left->distance));
	for (size_t i = 0; i < in->seen_n && left->n + (double)left->unplaced < ATTRIBUTE_SAMPLE; i++) {
		const struct attribute_seen *seen = &in->seen[i];
		int32_t said;

		if (!is_left(out, out->label[i], at))
			continue;
		said = placer_partition(&at->placer, seen->key.bytes, seen->key.len, at->partitions);
		if (said < 0) {
			left->unplaced++;
			continue;
		}
		left->seen[seen->partition]++;
		left->said[said]++;
		left->distance[(seen->partition % left->said_n - said + left->said_n) % left->said_n]++;
		left->n++;
	}
}

/* The part of the keys that would be at that distance, if the two had nothing to do with each other. */
static double luck_at(const struct left *left, int32_t distance)
{
	double sum = 0;

	for (int32_t seen = 0; seen < left->seen_n; seen++)
		sum += left->seen[seen] * left->said[(seen % left->said_n - distance + left->said_n) % left->said_n];
	return sum / left->n / left->n;
}

/*
 * Whether keys are at the same distance more often than luck would have it: pairs of keys that are, against what is to
 * be expected of them. None is at distance 0, which would be a hit.
 */
static bool is_regular(const struct left *left)
{
	double others = 1 - luck_at(left, 0), squares = 0, cubes = 0, pairs = 0, expected, variance;

	if (left->n < KEYS_LEAST || others <= 0)
		return false;
	for (int32_t i = 1; i < left->said_n; i++) {
		double luck = luck_at(left, i) / others;

		squares += luck * luck;
		cubes += luck * luck * luck;
		pairs += left->distance[i] * (left->distance[i] - 1) / 2;
	}
	expected = left->n * (left->n - 1) / 2 * squares;
	variance = expected + left->n * left->n * left->n * fmax(0, cubes - squares * squares);
	return pairs > LIFT * expected && pairs - expected > DEVIATIONS * sqrt(variance) + PAIRS_LEAST;
}

/* Or it can place few of them, such as a hash of texts where most keys are no text. */
static bool is_spoken_against(const struct attribute_input *in, const struct attribute_result *out, size_t cause)
{
	struct left left = { 0 };
	bool against;

	count_left(in, out, &out->cause[cause].placements[0], &left);
	against = is_regular(&left) ||
		  (out->cause[cause].placements[0].placer.part == KEYPART_WHOLE && left.unplaced > out->cause[cause].explained);
	free(left.seen);
	free(left.said);
	free(left.distance);
	return against;
}

static void take_back(const struct attribute_input *in, struct attribute_result *out, size_t cause)
{
	for (size_t i = 0; i < in->seen_n; i++) {
		if (out->label[i] == ATTRIBUTE_NONE || out->label[i] < cause)
			continue;
		out->label[i] = out->label[i] == cause ? ATTRIBUTE_NONE : out->label[i] - 1;
	}
	out->left += out->cause[cause].explained;
	if (out->tested < out->cause[cause].tested) {
		out->tested = out->cause[cause].tested;
		out->hypotheses = out->cause[cause].hypotheses;
	}
	free(out->cause[cause].placements);
	out->n--;
	memmove(&out->cause[cause], &out->cause[cause + 1], (out->n - cause) * sizeof(out->cause[0]));
	memset(&out->cause[out->n], 0, sizeof(out->cause[0]));
}

/* What is taken back is left: those before are asked once more. */
void attribute_left(const struct attribute_input *in, struct attribute_result *out)
{
	for (size_t i = out->n; i-- > 0;)
		if (is_spoken_against(in, out, i)) {
			take_back(in, out, i);
			i = out->n;
		}
}

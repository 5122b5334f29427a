/* rival: hits, and what they are worth. */
#include "analyzer/rival.h"

#include <math.h>
#include <stdlib.h>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "sql/mem.h"

double rival_score(double m, double r, double q)
{
	double score;

	if (m <= r * q)
		return 0;
	score = m * log(m / (r * q));
	return m < r ? score + (r - m) * log((r - m) / (r * (1 - q))) : score;
}

struct rival rival_of(const struct hypotheses_keys *keys, const struct attribute_placement *at, size_t matched)
{
	struct rival rival = { *at, matched, xarray(keys->n, sizeof(*rival.said)),
			       xarray(keys->n, sizeof(*rival.hit)) };

	for (size_t i = 0; i < keys->n; i++) {
		rival.said[i] = placer_partition(&at->placer, keys->key[i].bytes, keys->key[i].len, at->partitions);
		rival.hit[i] = rival.said[i] == keys->partition[i];
	}
	return rival;
}

void rival_release(struct rival *rival)
{
	free(rival->said);
	free(rival->hit);
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static size_t distinct(uint64_t *numbers, size_t n)
{
	size_t count = 0;

	qsort(numbers, n, sizeof(*numbers), by_number);
	for (size_t i = 0; i < n; i++)
		count += i == 0 || numbers[i] != numbers[i - 1];
	return count;
}

/* The part and its partition as a number. */
static uint64_t pair_of(const struct hypotheses_keys *keys, enum keypart part, size_t index)
{
	struct key_bytes bytes;

	if (!keypart_of(part, keys->key[index], &bytes))
		bytes = keys->key[index];
	return XXH3_64bits_withSeed(bytes.bytes, bytes.len, (uint64_t)keys->partition[index]);
}

/*
 * How often the hypothesis would hit if it had nothing to do with the keys: as often as what it says of one key is
 * where another one was seen, and no less than a good hash would. A poor hash can come to few values on keys that are
 * alike.
 */
static double luck_of(const struct hypotheses_keys *keys, int32_t n, const struct rival *rival, const bool *without)
{
	int32_t least = rival->at.partitions < n ? rival->at.partitions : n;
	double pairs = 0, held = 0, luck;
	size_t *seen = xarray((size_t)n, sizeof(*seen));

	for (size_t i = 0; i < keys->n; i++)
		if (!without || !without[i])
			seen[keys->partition[i]]++;
	for (size_t i = 0; i < keys->n; i++) {
		if (without && without[i])
			continue;
		held++;
		if (rival->said[i] >= 0 && rival->said[i] < n)
			pairs += (double)(seen[rival->said[i]] - rival->hit[i]);
	}
	free(seen);
	luck = held > 1 ? pairs / (held * (held - 1)) : 1;
	return luck > 1.0 / least ? luck : 1.0 / least;
}

double rival_evidence(const struct hypotheses_keys *keys, int32_t n, const struct rival *rival, const bool *without)
{
	bool whole = rival->at.placer.part == KEYPART_WHOLE;
	uint64_t *hit = xarray(keys->n, sizeof(*hit)), *missed = xarray(keys->n, sizeof(*missed));
	size_t hit_n = 0, missed_n = 0;

	for (size_t i = 0; i < keys->n; i++) {
		uint64_t pair;

		if (without && without[i])
			continue;
		pair = whole ? i : pair_of(keys, rival->at.placer.part, i);
		if (rival->hit[i])
			hit[hit_n++] = pair;
		else
			missed[missed_n++] = pair;
	}
	if (!whole) {
		hit_n = distinct(hit, hit_n);
		missed_n = distinct(missed, missed_n);
	}
	free(hit);
	free(missed);
	return rival_score((double)hit_n, (double)(hit_n + missed_n), luck_of(keys, n, rival, without));
}

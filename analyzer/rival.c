/* rival: hits, and what they are worth. */
#include "analyzer/rival.h"

#include <math.h>
#include <stdlib.h>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "sql/mem.h"

enum { SAMPLED_LEAST = 1, SAMPLED_MOST = 1000 };

double rival_score(double m, double r, double q)
{
	double score;

	if (m <= r * q)
		return 0;
	score = m * log(m / (r * q));
	return m < r ? score + (r - m) * log((r - m) / (r * (1 - q))) : score;
}

static int32_t place(const struct attribute_placement *at, struct key_bytes key)
{
	return placer_partition(&at->placer, key.bytes, key.len, at->partitions);
}

void rival_scene_prepare(struct rival_scene *scene)
{
	if (scene->sampled_n > SAMPLED_MOST)
		scene->sampled_n = SAMPLED_MOST;
	if (scene->sampled_n < SAMPLED_LEAST) {
		scene->sampled = scene->keys.key;
		scene->sampled_n = scene->keys.n < SAMPLED_MOST ? scene->keys.n : SAMPLED_MOST;
	}
	scene->taken = xarray(scene->sampled_n * scene->placed_n, sizeof(*scene->taken));
	for (size_t i = 0; i < scene->sampled_n; i++)
		for (size_t j = 0; j < scene->placed_n; j++)
			scene->taken[i * scene->placed_n + j] = place(&scene->placed[j], scene->sampled[i]);
}

struct rival rival_of(const struct rival_scene *scene, const struct attribute_placement *at, double score)
{
	struct rival rival = { *at, score, xarray(scene->keys.n, sizeof(*rival.said)),
			       xarray(scene->keys.n, sizeof(*rival.hit)) };

	for (size_t i = 0; i < scene->keys.n; i++) {
		rival.said[i] = place(at, scene->keys.key[i]);
		rival.hit[i] = rival.said[i] == scene->keys.partition[i];
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

/* Whether a key of the scene counts. */
static bool is_held(const struct rival *rival, const struct rival *without, size_t index)
{
	return rival->said[index] >= 0 && !(without && without->hit[index]);
}

/*
 * How often the rival would hit if it had nothing to do with where the keys are: as often as what it says of one key is
 * where another one was seen. A poor hash can come to few values on keys that are alike.
 */
static double luck_by_pairs(const struct rival_scene *scene, const struct rival *rival, const struct rival *without)
{
	double pairs = 0, held = 0;
	size_t *seen = xarray((size_t)scene->partitions, sizeof(*seen));

	for (size_t i = 0; i < scene->keys.n; i++)
		seen[scene->keys.partition[i]] += is_held(rival, without, i);
	for (size_t i = 0; i < scene->keys.n; i++) {
		if (!is_held(rival, without, i))
			continue;
		held++;
		if (rival->said[i] < scene->partitions)
			pairs += (double)(seen[rival->said[i]] - rival->hit[i]);
	}
	free(seen);
	return held > 1 ? pairs / (held * (held - 1)) : 1;
}

/* Adds a partition where a key cannot have been seen off home and unexplained to the n of out; gives the new n. */
static size_t rule_out(int32_t *out, size_t n, int32_t partition, int32_t partitions)
{
	if (partition < 0 || partition >= partitions)
		return n;
	for (size_t i = 0; i < n; i++)
		if (out[i] == partition)
			return n;
	out[n] = partition;
	return n + 1;
}

/*
 * The same if the keys were placed by chance: of all partitions where a key of the topic can be seen off home, and
 * where no other placement explains it, those where the rival puts it. In a topic of two partitions that is all of them
 * for the opposite of what was explained before.
 */
static double luck_by_room(const struct rival_scene *scene, const struct rival *rival, const struct rival *without)
{
	int32_t *out = xarray(scene->placed_n + 2, sizeof(*out));
	double room = 0, there = 0;

	for (size_t i = 0; i < scene->sampled_n; i++) {
		int32_t said = place(&rival->at, scene->sampled[i]);
		size_t n = 0;

		if (said < 0)
			continue;
		for (size_t j = 0; j < scene->placed_n; j++)
			n = rule_out(out, n, scene->taken[i * scene->placed_n + j], scene->partitions);
		if (without)
			n = rule_out(out, n, place(&without->at, scene->sampled[i]), scene->partitions);
		room += (double)scene->partitions - (double)n;
		there += said < scene->partitions && rule_out(out, n, said, scene->partitions) > n;
	}
	free(out);
	return room > 0 ? there / room : 1;
}

/* The greatest of both and of what a good hash does. */
static double luck_of(const struct rival_scene *scene, const struct rival *rival, const struct rival *without)
{
	int32_t n = scene->partitions;
	double luck = 1.0 / (rival->at.partitions < n ? rival->at.partitions : n),
	       pairs = luck_by_pairs(scene, rival, without), room = luck_by_room(scene, rival, without);

	luck = pairs > luck ? pairs : luck;
	return room > luck ? room : luck;
}

double rival_evidence(const struct rival_scene *scene, const struct rival *rival, const struct rival *without)
{
	bool whole = rival->at.placer.part == KEYPART_WHOLE;
	size_t n = scene->keys.n, hit_n = 0, missed_n = 0;
	uint64_t *hit = xarray(n, sizeof(*hit)), *missed = xarray(n, sizeof(*missed));

	for (size_t i = 0; i < n; i++) {
		uint64_t pair;

		if (!is_held(rival, without, i))
			continue;
		pair = whole ? i : pair_of(&scene->keys, rival->at.placer.part, i);
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
	return rival_score((double)hit_n, (double)(hit_n + missed_n), luck_of(scene, rival, without));
}

/* hypotheses: one pass over the keys for each placement, as short as it can be. */
#include "analyzer/hypotheses.h"

#include <stdlib.h>

#include "sql/mem.h"

enum { ALL_COUNTS = 1024, AROUND = 16 };

static int by_count(const void *a, const void *b)
{
	const int32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool is_tried(int32_t count, int32_t n)
{
	if (n <= ALL_COUNTS || count <= ALL_COUNTS)
		return true;
	return n % count == 0 || count % n == 0 || abs(count - n) <= AROUND || (count & (count - 1)) == 0;
}

void hypotheses_counts(int32_t n, const int32_t *known, size_t known_n, struct hypotheses_counts *counts)
{
	int64_t most = (int64_t)n * 4 > n + AROUND ? (int64_t)n * 4 : n + AROUND;
	size_t used = 0;

	counts->count = xarray((size_t)most + known_n, sizeof(*counts->count));
	counts->n = 0;
	for (int64_t i = 1; i <= most; i++)
		if (is_tried((int32_t)i, n))
			counts->count[counts->n++] = (int32_t)i;
	for (size_t i = 0; i < known_n; i++)
		if (known[i] > 0)
			counts->count[counts->n++] = known[i];
	qsort(counts->count, counts->n, sizeof(*counts->count), by_count);
	for (size_t i = 0; i < counts->n; i++)
		if (i == 0 || counts->count[i] != counts->count[used - 1])
			counts->count[used++] = counts->count[i];
	counts->n = used;
}

/* n divides y where rotate(y * inverse, shift) <= limit. */
struct divisor {
	uint32_t inverse, limit;
	unsigned shift;
};

static struct divisor divisor_of(uint32_t n)
{
	struct divisor d = { .limit = UINT32_MAX / n, .shift = (unsigned)__builtin_ctz(n) };
	uint32_t odd = n >> d.shift;

	d.inverse = odd; /* right to three bits; each step doubles them */
	for (int i = 0; i < 4; i++)
		d.inverse *= 2 - odd * d.inverse;
	return d;
}

static uint32_t divisible(const uint32_t *y, size_t n, struct divisor d)
{
	uint32_t count = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t x = y[i] * d.inverse;

		count += (x >> d.shift | x << (-d.shift & 31)) <= d.limit;
	}
	return count;
}

/* What the passes over the keys work on. */
struct pass {
	const struct hypotheses_keys *keys;
	const struct hypotheses_counts *counts;
	struct divisor *divisor; /* of each count */
	struct key_bytes *part;
	uint32_t *hash;
	bool *has, *valid;  /* the key has the part; and the hash is defined for it */
	uint32_t *distance; /* dividend - partition, of the keys that can match at all */
	int32_t *partition; /* of those */
};

/* A dividend below the partition gives itself, or less, under every count. */
static size_t measure(struct pass *pass, enum partition_reduction reduction)
{
	size_t n = 0;

	for (size_t i = 0; i < pass->keys->n; i++) {
		uint32_t dividend, partition = (uint32_t)pass->keys->partition[i];

		if (!pass->valid[i])
			continue;
		dividend = partition_dividend(reduction, pass->hash[i]);
		if (dividend < partition)
			continue;
		pass->distance[n] = dividend - partition;
		pass->partition[n++] = (int32_t)partition;
	}
	return n;
}

static void match_placer(struct hypotheses *h, struct pass *pass, struct placer placer)
{
	uint32_t *matched = h->matched + h->placer_n * h->count_n;
	size_t n = measure(pass, placer.partitioner->reduction), below = 0;

	for (size_t i = 0; i < pass->counts->n; i++) {
		while (below < n && pass->partition[below] < pass->counts->count[i])
			below++;
		matched[i] = divisible(pass->distance, below, pass->divisor[i]);
	}
	h->held[h->placer_n] = 0;
	for (size_t i = 0; i < pass->keys->n; i++)
		h->held[h->placer_n] += pass->valid[i];
	h->placers[h->placer_n++] = placer;
}

/* Several partitioners share a hash, and differ in how they reduce it. */
static void match_hash(struct hypotheses *h, struct pass *pass, enum keypart part, size_t first)
{
	for (size_t i = 0; i < pass->keys->n; i++)
		pass->valid[i] = pass->has[i] &&
				 partitioners[first].hash(pass->part[i].bytes, pass->part[i].len, &pass->hash[i]);
	for (size_t i = first; i < PARTITIONER_COUNT; i++)
		if (partitioners[i].hash == partitioners[first].hash)
			match_placer(h, pass, (struct placer){ &partitioners[i], part });
}

static bool is_first_of_hash(size_t partitioner)
{
	for (size_t i = 0; i < partitioner; i++)
		if (partitioners[i].hash == partitioners[partitioner].hash)
			return false;
	return true;
}

/* Whether the part differs from the whole on a key that has it. */
static bool cut(struct pass *pass, enum keypart part)
{
	bool differs = false;

	for (size_t i = 0; i < pass->keys->n; i++) {
		pass->has[i] = keypart_of(part, pass->keys->key[i], &pass->part[i]);
		if (pass->has[i])
			differs |= pass->part[i].len != pass->keys->key[i].len;
	}
	return differs;
}

void hypotheses_match(struct hypotheses *h, const struct hypotheses_keys *keys, const struct hypotheses_counts *counts)
{
	struct pass pass = { .keys = keys, .counts = counts };
	size_t most = (size_t)PARTITIONER_COUNT * KEYPART_COUNT;

	pass.divisor = xarray(counts->n, sizeof(*pass.divisor));
	pass.part = xarray(keys->n, sizeof(*pass.part));
	pass.hash = xarray(keys->n, sizeof(*pass.hash));
	pass.has = xarray(keys->n, sizeof(*pass.has));
	pass.valid = xarray(keys->n, sizeof(*pass.valid));
	pass.distance = xarray(keys->n, sizeof(*pass.distance));
	pass.partition = xarray(keys->n, sizeof(*pass.partition));
	for (size_t i = 0; i < counts->n; i++)
		pass.divisor[i] = divisor_of((uint32_t)counts->count[i]);
	h->count_n = counts->n;
	h->placer_n = 0;
	h->placers = xgrow(h->placers, most, sizeof(*h->placers));
	h->held = xgrow(h->held, most, sizeof(*h->held));
	h->matched = xgrow(h->matched, most * counts->n, sizeof(*h->matched));
	for (int part = 0; part < KEYPART_COUNT; part++) {
		if (!cut(&pass, (enum keypart)part) && part != KEYPART_WHOLE)
			continue;
		for (size_t i = 0; i < PARTITIONER_COUNT; i++)
			if (is_first_of_hash(i))
				match_hash(h, &pass, (enum keypart)part, i);
	}
	free(pass.divisor);
	free(pass.part);
	free(pass.hash);
	free(pass.has);
	free(pass.valid);
	free(pass.distance);
	free(pass.partition);
}

void hypotheses_release(struct hypotheses *h)
{
	free(h->placers);
	free(h->held);
	free(h->matched);
	*h = (struct hypotheses){ 0 };
}

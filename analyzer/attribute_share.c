/* attribute_share: the keys by the set of causes that explain them, then expectation maximisation over the sets. */
#include "analyzer/attribute_share.h"

#include <stdlib.h>

#include "sql/mem.h"

enum { SETS = 1 << ATTRIBUTE_CAUSES, STEPS = 200 };

/* For each set of causes, as bits: the keys that just these causes explain. */
static void count_sets(const struct attribute_input *in, const struct attribute_result *out, size_t *count)
{
	for (size_t i = 0; i < in->seen_n; i++) {
		const struct attribute_seen *seen = &in->seen[i];
		size_t set = 0;

		for (size_t j = 0; j < out->n; j++) {
			const struct attribute_placement *at = &out->cause[j].placements[0];

			if (placer_partition(&at->placer, seen->key.bytes, seen->key.len, at->partitions) ==
			    seen->partition)
				set |= (size_t)1 << j;
		}
		count[set]++;
	}
}

/* One step: share[n] is that of chance. */
static void improve_shares(const struct attribute_input *in, const size_t *count, double *share, size_t n)
{
	double next[ATTRIBUTE_CAUSES + 1] = { 0 };

	for (size_t set = 0; set < (size_t)1 << n; set++) {
		double all = share[n] / in->partitions;

		for (size_t j = 0; j < n; j++)
			all += set >> j & 1 ? share[j] : 0;
		if (!count[set] || all <= 0)
			continue;
		for (size_t j = 0; j < n; j++)
			next[j] += set >> j & 1 ? (double)count[set] * share[j] / all : 0;
		next[n] += (double)count[set] * share[n] / in->partitions / all;
	}
	for (size_t j = 0; j <= n; j++)
		share[j] = next[j] / (double)in->seen_n;
}

void attribute_share(const struct attribute_input *in, struct attribute_result *out)
{
	size_t *count = xarray(SETS, sizeof(*count));
	double share[ATTRIBUTE_CAUSES + 1];

	count_sets(in, out, count);
	for (size_t j = 0; j <= out->n; j++)
		share[j] = 1.0 / (double)(out->n + 1);
	for (int i = 0; i < STEPS; i++)
		improve_shares(in, count, share, out->n);
	for (size_t j = 0; j < out->n; j++)
		out->cause[j].share = share[j];
	free(count);
}

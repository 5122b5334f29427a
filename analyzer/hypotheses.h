/*
 * hypotheses: for every placement that could be (partitioner x part of the key x partition count), how many of some
 * keys it would put where they were seen.
 *
 * A key is hashed once for each partitioner and part, and reduced for each count, where the remainder itself is not
 * needed: x % n == p says that n divides x - p, which takes one multiplication by the inverse of n's odd part, modulo
 * 2^32, and one comparison (Granlund and Montgomery, "Division by Invariant Integers using Multiplication", 1994).
 */
#ifndef ANALYZER_HYPOTHESES_H
#define ANALYZER_HYPOTHESES_H

#include <stddef.h>
#include <stdint.h>

#include "sql/placer.h"

/* Keys, and the partition that each was seen in, in rising order of the partition. Borrowed. */
struct hypotheses_keys {
	const struct key_bytes *key;
	const int32_t *partition;
	size_t n;
};

/* Partition counts, rising, each once. */
struct hypotheses_counts {
	int32_t *count;
	size_t n;
};

/*
 * The counts to try for a topic of n partitions: 1 to the greatest of 4n, n + 16 and those known. Of more than 1,024
 * partitions not all of them: 1 to 1,024, divisors and multiples of n, n - 16 to n + 16, powers of two, those known.
 * The caller frees counts->count.
 */
void hypotheses_counts(int32_t n, const int32_t *known, size_t known_n, struct hypotheses_counts *counts);

/* Zero it before hypotheses_match; release. */
struct hypotheses {
	struct placer *placers;
	size_t placer_n;
	uint32_t *held;    /* [placer]: keys that it can place at all */
	uint32_t *matched; /* [placer][count] */
	size_t count_n;
};

/*
 * Fills h. Parts that change no key, or that no key has, are left out: they would say again what the whole key says.
 */
void hypotheses_match(struct hypotheses *h, const struct hypotheses_keys *keys, const struct hypotheses_counts *counts);
void hypotheses_release(struct hypotheses *h);

#endif

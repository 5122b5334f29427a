/*
 * Random numbers that are the same on every machine: the same seed, the same sequence.
 * SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
 */
#ifndef PIPELINE_PRNG_H
#define PIPELINE_PRNG_H

#include <stdbool.h>
#include <stdint.h>

struct prng {
	uint64_t state;
};

void prng_seed(struct prng *p, uint64_t seed);

uint64_t prng_next(struct prng *p);

/* A number in [0, n), n > 0; the bias is below n / 2^64. */
uint64_t prng_below(struct prng *p, uint64_t n);

/* True with this probability. */
bool prng_chance(struct prng *p, double probability);

#endif

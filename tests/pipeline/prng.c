/* Random numbers that are the same on every machine. */
#include "prng.h"

void prng_seed(struct prng *p, uint64_t seed)
{
	p->state = seed;
}

uint64_t prng_next(struct prng *p)
{
	uint64_t z = p->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint64_t prng_below(struct prng *p, uint64_t n)
{
	return prng_next(p) % n;
}

bool prng_chance(struct prng *p, double probability)
{
	return (double)(prng_next(p) >> 11) * 0x1p-53 < probability;
}

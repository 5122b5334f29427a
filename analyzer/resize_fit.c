/* resize_fit: expectation and maximisation over the classes of keys, of which there are few. */
#include "analyzer/resize_fit.h"

#include <math.h>
#include <stddef.h>

/* More bring less than a thousandth of what any decision asks for. */
enum { ROUNDS = 200 };

/* Likelihood over chance of one key of the class. */
static double density(const struct fit *fit, unsigned class)
{
	double at_random = 1, sum = 0;

	for (int i = 0; i < fit->count_n; i++) {
		at_random -= fit->share[i];
		if (class >> i & 1)
			sum += fit->share[i] * fit->count[i];
	}
	return sum + (at_random > 0 ? at_random : 0);
}

/* New shares from the old ones. The logarithm of the likelihood under the old ones. */
static double improve(struct fit *fit)
{
	double took[FIT_COUNTS] = { 0 }, sum = 0, keys = 0;

	for (unsigned class = 0; class < 1u << fit->count_n; class++) {
		double each;

		if (!fit->keys[class])
			continue;
		each = density(fit, class);
		sum += fit->keys[class] * log(each);
		keys += fit->keys[class];
		for (int i = 0; i < fit->count_n; i++)
			if (class >> i & 1)
				took[i] += fit->keys[class] * fit->share[i] * fit->count[i] / each;
	}
	for (int i = 0; i < fit->count_n && keys > 0; i++)
		fit->share[i] = took[i] / keys;
	return sum;
}

double fit_solve(struct fit *fit)
{
	double best = 0;

	for (int i = 0; i < fit->count_n; i++)
		fit->share[i] = 1.0 / (fit->count_n + 1);
	for (int round = 0; round < ROUNDS; round++)
		best = improve(fit);
	return best > 0 ? best : 0;
}

/* bound: the exact binomial upper bound. */
#include "reports/bound.h"

#include <math.h>

enum { PPB = 1000000000 };

static const double alpha = 0.05;

/* log of P(X = k | n, p) */
static double log_term(double k, double n, double p)
{
	int sign;

	return lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign) + k * log(p) +
	       (n - k) * log1p(-p);
}

/* P(X <= x | n, p) for p above x / n, where the terms fall from k = x down to 0. */
static double tail(double x, double n, double p)
{
	double term = 1, sum = 1;

	for (double k = x; k > 0 && term > sum * 1e-17; k--) {
		term *= k * (1 - p) / ((n - k + 1) * p);
		sum += term;
	}
	return exp(log_term(x, n, p) + log(sum));
}

static double upper(double x, double n)
{
	double low = x / n, high = 1;

	for (int i = 0; i < 200 && high - low > 1e-15 * high; i++) {
		double middle = low + (high - low) / 2;

		if (tail(x, n, middle) > alpha)
			low = middle;
		else
			high = middle;
	}
	return high;
}

int64_t bound_95_ppb(int64_t x, int64_t n)
{
	double share;

	if (n <= 0 || x >= n)
		return PPB;
	share = x ? upper((double)x, (double)n) : -expm1(log(alpha) / (double)n);
	return (int64_t)ceil(share * PPB - 1e-3);
}

/*
 * bound: what so many bad keys in a sample say of all keys.
 */
#ifndef REPORTS_BOUND_H
#define REPORTS_BOUND_H

#include <stdint.h>

/*
 * The 95 % upper bound for the share of bad keys, where a random sample of n keys had x bad ones: the share p at which
 * so few or fewer would show up in one sample of twenty, P(X <= x | n, p) = 0.05 (Clopper and Pearson, Biometrika 26,
 * 1934, one-sided). For x = 0 it is 1 - 0.05^(1/n). In parts per billion, rounded up. 0 <= x <= n; 1,000,000,000 where
 * n = 0 or x = n.
 */
int64_t bound_95_ppb(int64_t x, int64_t n);

#endif

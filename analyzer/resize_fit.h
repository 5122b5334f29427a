/*
 * resize_fit: how well a set of partition counts explains in which partitions keys stand.
 *
 * The model: each key was placed by one of the counts, or at random, with shares that are not known. Given the
 * partition, a count n that placed a key there makes the key n times as likely as chance does, and one that would have
 * placed it elsewhere makes it impossible. What the fit tells is the logarithm of the likelihood against chance, with
 * the shares that make it greatest. It takes a partition as given, so it does not matter which partitions had records
 * at the time; a count that divides another is told apart from it because its factor is smaller.
 */
#ifndef ANALYZER_RESIZE_FIT_H
#define ANALYZER_RESIZE_FIT_H

#include <stdint.h>

/* The most counts in one set. */
enum { FIT_COUNTS = 9, FIT_CLASSES = 1 << FIT_COUNTS };

/* Keys by the counts they agree with: bit i of the index is set where the key is at home under count[i]. */
struct fit {
	int32_t count[FIT_COUNTS];
	int count_n;
	uint32_t keys[FIT_CLASSES];
	double share[FIT_COUNTS]; /* filled in by fit_solve */
};

/* Finds the shares. Natural logarithm of likelihood over chance; 0 where nothing is better than chance. */
double fit_solve(struct fit *fit);

#endif

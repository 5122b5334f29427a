/*
 * attribute_left: takes back causes that the keys without a cause speak against.
 *
 * If a placement put some keys where they are and something that has nothing to do with it the others, then where the
 * others are says nothing of where it would put them. A function that is not in the list can be a relative of one that
 * is, such as two sums over the same characters: the one in the list then hits far more often than luck, without having
 * placed anything. It misses as regularly: by the same distance.
 */
#ifndef ANALYZER_ATTRIBUTE_LEFT_H
#define ANALYZER_ATTRIBUTE_LEFT_H

#include "analyzer/attribute.h"

/* Of what was found. Takes a cause out of out->cause and out->label; its keys are left. */
void attribute_left(const struct attribute_input *in, struct attribute_result *out);

#endif

/*
 * attribute_share: how many of the keys seen each cause put there, where some are explained by several of them, or by
 * luck.
 */
#ifndef ANALYZER_ATTRIBUTE_SHARE_H
#define ANALYZER_ATTRIBUTE_SHARE_H

#include "analyzer/attribute.h"

/* Fills in cause[].share of what was found. */
void attribute_share(const struct attribute_input *in, struct attribute_result *out);

#endif

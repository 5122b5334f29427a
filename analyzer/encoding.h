/*
 * encoding: two topics that are declared co-partitioned may hold the same keys as different bytes: int64 in one,
 * decimal text in the other. Partitioners hash bytes, so such keys lie in different partitions, and joins, which
 * compare bytes, find nothing wherever they lie. copartition-split, which compares bytes too, is silent.
 */
#ifndef ANALYZER_ENCODING_H
#define ANALYZER_ENCODING_H

#include <sqlite3.h>

#include "sql/run.h"
#include "sql/trouble.h"

/*
 * Fills table topic_encoding for the topics of run run->id, once they are folded. For each pair of topics, up to 2,000
 * keys of the one that has fewer, those with the smallest hashes, are looked for in the other as they are, and those
 * that are not there so decoded under each key format and encoded under each other one, with the prefixes that the
 * other topic's keys have. A pair of formats explains the topics when it finds
 *     at least 20 keys,
 *     at least half of those that it can be asked of,
 *     and a quarter more than any pair that finds other keys: short numbers are in many a topic by accident, and an
 *     accident is shared by several pairs.
 * The caller holds the transaction. 0 or -1.
 */
int encoding_find(const struct run *run, sqlite3 *db, struct trouble *t);

#endif

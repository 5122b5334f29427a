/*
 * remedy: how producers that place keys by another partitioner are brought to use Kafka's own, murmur2: the setting of
 * each client.
 */
#ifndef ANALYZER_REMEDY_H
#define ANALYZER_REMEDY_H

#include "sql/partitioner.h"

/* Static text: clients with their settings, without a full stop. NULL for murmur2 itself. */
const char *remedy_to_murmur2(const struct partitioner *from);

#endif

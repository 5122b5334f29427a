/* From a Kafka key to the Redis key that holds its state, and the name of an epoch. */
#ifndef PIPELINE_KEYTEXT_H
#define PIPELINE_KEYTEXT_H

#include "opts.h"

/*
 * The Redis key of a Kafka key under c->key and c->key_format, into b. In the template {key} and {topic} stand for
 * themselves, {{ and }} for a literal brace. False where the key does not have the format (an int64 of 7 bytes).
 */
bool keytext_state(const struct common *c, struct bytes key, struct buf *b);

/* The Redis key of a partition's epoch under c->epoch, into b; empty where there is none. */
void keytext_epoch(const struct common *c, int32_t partition, struct buf *b);

#endif

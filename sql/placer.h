/*
 * How a producer places keys: a partitioner (sql/partitioner.h) over a part of the key (sql/keypart.h). As a text, in
 * the config, in SQL and in findings, it is the partitioner's name, and where the part is not the whole key, a slash
 * and its word:
 *
 *     murmur2                Kafka's own
 *     crc32                  librdkafka's default
 *     murmur2/windowed       Kafka Streams, time-windowed keys
 */
#ifndef SQL_PLACER_H
#define SQL_PLACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/keypart.h"
#include "sql/partitioner.h"

/* A plain value. */
struct placer {
	const struct partitioner *partitioner;
	enum keypart part;
};

/* All words that may stand on either side of the slash, for messages: a string literal. */
#define PLACER_NAME(name, hash, reduction, users) #name " "
#define PLACER_PART(name, word, what) " " word
#define PLACER_WORDS PARTITIONERS(PLACER_NAME) "and, after a slash, a part of the key:" KEYPARTS(PLACER_PART)

/* Whether it is Kafka's own over the whole key, which has its own fast way. */
static inline bool placer_is_plain(const struct placer *placer)
{
	return placer->partitioner == &partitioners[PARTITIONER_murmur2] && placer->part == KEYPART_WHOLE;
}

/* Whether both place every key alike by what they are, not by what comes out. */
static inline bool placer_same(const struct placer *a, const struct placer *b)
{
	return a->partitioner == b->partitioner && a->part == b->part;
}

/* Parses a text; false where a word is unknown. "NAME/whole" is NAME. */
bool placer_parse(const char *text, struct placer *placer);

/* Writes the text into out, which has room for PLACER_TEXT bytes. */
enum { PLACER_TEXT = 64 };
void placer_text(const struct placer *placer, char *out);

/*
 * The number that modulo n is the key's partition of [0, n), whatever n; false where the key has no home: it is too
 * short for the part, or outside the partitioner's domain.
 */
static inline bool placer_dividend(const struct placer *placer, const void *key, size_t len, uint32_t *dividend)
{
	struct key_bytes part = { key, len };
	uint32_t hash;

	if (placer->part != KEYPART_WHOLE && !keypart_of(placer->part, part, &part))
		return false;
	if (!placer->partitioner->hash(part.bytes, part.len, &hash))
		return false;
	*dividend = partition_dividend(placer->partitioner->reduction, hash);
	return true;
}

/* The partition of [0, n) for the key, n > 0; -1 where it has no home. */
int32_t placer_partition(const struct placer *placer, const void *key, size_t len, int32_t n);

#endif

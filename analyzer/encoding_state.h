/* What the files of encoding share: keys of a topic, and what pairs of formats find. Theirs alone. */
#ifndef ANALYZER_ENCODING_STATE_H
#define ANALYZER_ENCODING_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/buffer.h"
#include "sql/keyformat.h"
#include "sql/keyprefix.h"

enum { ENCODING_SAMPLES = 5, ENCODING_SAME_LEAST = 20 };

/* The keys of a topic's sample, all of them, by hash: two keys would have to agree in 63 bits to be taken for one. */
struct encoding_keys {
	struct encoding_slot {
		int64_t hash, last_ms; /* hash: -1, free */
		int32_t partition;     /* of its newest record */
	} *slots;
	size_t count, room;
	int64_t threshold;
	struct key_prefixes prefixes[KEY_PREFIX_GLUE + 1]; /* by kind */
};

/* One key of the topic that has fewer. */
struct encoding_key {
	int64_t hash, last_ms;
	const void *bytes;
	size_t size;
	int32_t partition;
};

/* What the pair of a format of these keys and one of the others finds. */
struct encoding_score {
	int64_t compared, same, apart;
	uint64_t print; /* of the keys found: pairs that find the same ones are one explanation */
	bool binary, their_binary; /* a key found is no UTF-8; what it was found as */
	struct encoding_sample {
		struct buffer mine, theirs;
	} samples[ENCODING_SAMPLES]; /* of the first ones found */
};

void encoding_keys_add(struct encoding_keys *keys, const struct encoding_key *key);
const struct encoding_slot *encoding_keys_find(const struct encoding_keys *keys, int64_t hash);
void encoding_keys_release(struct encoding_keys *keys);

/*
 * encoding_pair.c: all pairs of formats over one key, unless the topic holds it as it is;
 * score[mine * KEY_FORMAT_COUNT + theirs].
 */
struct encoding_trial {
	const struct encoding_keys *keys;
	struct encoding_score *score;
	struct buffer text, whole; /* for use */
};
void encoding_try(struct encoding_trial *trial, const struct encoding_key *key);

/*
 * How many keys to try against a topic whose sample has that threshold: of a sample of a part, fewer keys have a place
 * there under another encoding, and more are taken.
 */
int64_t encoding_wanted(int64_t threshold);

/* The pair that explains the topics, as an index of score; -1: none does. */
int encoding_best(const struct encoding_score *score);

/* What keys of a format are, of which one is given, in a buffer that a NUL ends; and what serializer writes them. */
void encoding_words(enum key_format format, bool binary, const struct buffer *sample, struct buffer *out);
const char *encoding_serializer(enum key_format format);

#endif

/*
 * The part of a record key that a producer hashed, where it did not hash all of it. Every part is a run of the key's
 * own bytes.
 *
 * Sources: Kafka Streams' WindowKeySchema, SessionKeySchema, TimestampedKeyAndJoinSideSerializer and CombinedKeySchema;
 * the wire formats of Confluent's and AWS Glue's schema registries; rdkafka-ruby, which hands librdkafka the number of
 * characters of a partition key as its number of bytes.
 */
#ifndef SQL_KEYPART_H
#define SQL_KEYPART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(NAME, word, what is hashed of which keys) */
#define KEYPARTS(X)                                                                                                \
	X(WHOLE, "whole", "the whole key")                                                                         \
	X(WINDOWED, "windowed", "a time-windowed key of Kafka Streams without its last 8 bytes, the window's start") \
	X(SESSION, "session", "a session-windowed key of Kafka Streams without its last 16 bytes, end and start")  \
	X(WINDOW_STORE, "window-store",                                                                            \
	  "a key of a window store's changelog without its last 12 bytes, time and sequence number")               \
	X(OUTER_JOIN, "outer-join", "a key of an outer join's changelog without its first 9 bytes, time and side") \
	X(FOREIGN_KEY, "foreign-key", "the foreign key of a subscription store's changelog, after its length")     \
	X(CONFLUENT, "confluent", "a key without the 5 bytes of its Confluent schema id")                          \
	X(CONFLUENT_GUID, "confluent-guid", "a key without the 17 bytes of its Confluent schema GUID")             \
	X(GLUE, "glue", "a key without the 18 bytes of its AWS Glue header")                                       \
	X(CHARACTERS, "characters", "as many bytes of a UTF-8 key as it has characters, as rdkafka-ruby once did")

#define KEYPART_ENUM(name, word, what) KEYPART_##name,
enum keypart { KEYPARTS(KEYPART_ENUM) KEYPART_COUNT };

struct key_bytes {
	const uint8_t *bytes;
	size_t len;
};

const char *keypart_word(enum keypart part);
const char *keypart_what(enum keypart part);

/* The part of that word; false where there is none. */
bool keypart_by_word(const char *word, size_t len, enum keypart *part);

/* The part of a key, which points into it; false where the key is too short for it or of another shape. */
bool keypart_of(enum keypart part, struct key_bytes key, struct key_bytes *out);

#endif

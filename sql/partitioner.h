/*
 * Where producers put a key: Kafka's murmur2 and the home partition, and every other keyed partitioner that real
 * clients use, so that a record off its home can be traced to the client that put it there.
 *
 * All of them hash the key's bytes to 32 bits and reduce the hash modulo the partition count; they differ in the hash
 * and in how they lose its sign. Null keys have no partition of their own and never come here; empty keys do.
 */
#ifndef SQL_PARTITIONER_H
#define SQL_PARTITIONER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t murmur2_load(const uint8_t *p)
{
	uint32_t k;

	memcpy(&k, p, sizeof(k));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	k = __builtin_bswap32(k);
#endif
	return k;
}

/* MurmurHash2 of 32 bits over little-endian blocks, whatever the alignment of key. key may be NULL where len is 0. */
static inline uint32_t murmur2_seeded(const void *key, size_t len, uint32_t seed)
{
	const uint32_t m = 0x5bd1e995;
	const uint8_t *p = key;
	uint32_t h = seed ^ (uint32_t)len;

	for (; len >= 4; p += 4, len -= 4) {
		uint32_t k = murmur2_load(p) * m;

		h = h * m ^ (k ^ k >> 24) * m;
	}
	if (len > 2)
		h ^= (uint32_t)p[2] << 16;
	if (len > 1)
		h ^= (uint32_t)p[1] << 8;
	if (len > 0)
		h = (h ^ p[0]) * m;
	h = (h ^ h >> 13) * m;
	return h ^ h >> 15;
}

/*
 * Kafka's murmur2 (org.apache.kafka.common.utils.Utils.murmur2). Java shows the same 32 bits as a signed int;
 * murmur2 of the empty key is 275646681.
 */
static inline uint32_t murmur2(const void *key, size_t len)
{
	return murmur2_seeded(key, len, 0x9747b28c);
}

/* toPositive(murmur2(key)) % n: the home partition under n > 0 partitions. toPositive clears the sign bit, no abs. */
static inline int32_t home_partition(const void *key, size_t len, int32_t n)
{
	return (int32_t)((murmur2(key, len) & 0x7fffffff) % (uint32_t)n);
}

/*
 * X(name, hash, reduction, who uses it); the first is Kafka's own. Reductions of a hash h to n partitions:
 * mask (h & 0x7fffffff) % n, mod h % n unsigned, abs |(int32) h| % n, abs0 as abs with INT_MIN giving 0,
 * mask0 as mask with 0x7fffffff giving 0, mask1 as mask with a hash of 0 taken as 1. The java_* and
 * debezium ones hash a string or bytes object, taken here to be the record's key.
 */
#define PARTITIONERS(X)                                                                                             \
	X(murmur2, murmur2, mask,                                                                                   \
	  "Java producer, Kafka Streams and Connect, librdkafka murmur2_random, kafka-python, aiokafka, KafkaJS 2, " \
	  "franz-go, kafka-go Murmur2Balancer, Sarama NewMurmur2Partitioner, ruby-kafka murmur2, KafkaEx 1")        \
	X(crc32, crc32, mod,                                                                                        \
	  "librdkafka default consistent_random and its bindings (Python, .NET, Go, Node, PHP), ruby-kafka default, " \
	  "Sarama NewConsistentCRCHashPartitioner, kafka-go CRC32Balancer")                                         \
	X(fnv1a, fnv1a, abs,                                                                                        \
	  "Sarama default, goka, kafka-go Hash, librdkafka fnv1a_random, franz-go SaramaCompatHasher, Benthos fnv1a") \
	X(murmur2_unsigned, murmur2, mod,                                                                           \
	  "librdkafka 0.11.4, KafkaEx before 1.0, @platformatic/kafka default, Redpanda HTTP Proxy, older Dekaf")   \
	X(murmur2_abs, murmur2, abs, "Sarama NewCustomHashPartitioner(murmur2) without WithAbsFirst")               \
	X(murmur2_seed0_unsigned, murmur2_seed0, mod, "older node-sinek")                                           \
	X(kafkajs_legacy, kafkajs_legacy, mask, "KafkaJS 1 default, KafkaJS 2 LegacyPartitioner")                   \
	X(crc32_abs, crc32, abs, "Sarama custom crc32 partitioner, kafka-go Hash with crc32")                       \
	X(crc32_mask, crc32, mask, "Sarama WithAbsFirst and crc32, kafka-go ReferenceHash with crc32")              \
	X(fnv1a_mask, fnv1a, mask, "Sarama NewReferenceHashPartitioner, kafka-go ReferenceHash, Elastic Beats")     \
	X(fnv1a_unsigned, fnv1a, mod, "kafka-go Hash before August 2019, franz-go SaramaHasher(fnv)")               \
	X(java_string_mask, java_string, mask, "Scala producer 0.8.0 with String keys, Pulsar JavaStringHash")      \
	X(java_string_abs, java_string, abs0,                                                                       \
	  "Spring Cloud Stream, Scala producer 0.8.2 with String keys, Maxwell default, Canal")                     \
	X(java_bytes_mask, java_bytes, mask, "Scala producer 0.8.0 ByteArrayPartitioner")                           \
	X(kafka_node_keyed, java_string, mask1, "kafka-node keyed partitioner")                                     \
	X(debezium_java_string, java_string, mask0, "Debezium PartitionRouting (java)")                             \
	X(murmur3_mask, murmur3, mask, "Pulsar Murmur3_32Hash")                                                     \
	X(murmur3_maxwell_abs, murmur3_maxwell, abs, "Maxwell kafka_partition_hash=murmur3")                        \
	X(xxhash32, xxhash32, mod, "kafka-rust DefaultPartitioner")                                                 \
	X(phash2, phash2, mod, "brod hash (erlang:phash2)")

enum {
#define X(name, hash, reduction, users) PARTITIONER_##name,
	PARTITIONERS(X)
#undef X
	PARTITIONER_COUNT
};

enum partition_reduction { REDUCE_mask, REDUCE_mod, REDUCE_abs, REDUCE_abs0, REDUCE_mask0, REDUCE_mask1 };

/* A partitioner: a plain value, static for the life of the program. */
struct partitioner {
	const char *name;
	const char *users;
	/* Hashes a key, so that one hash serves many counts; false where the key is outside the function's domain. */
	bool (*hash)(const uint8_t *key, size_t len, uint32_t *hash);
	enum partition_reduction reduction;
};

/* What a reduction takes modulo n. kafka-node masks at every step, which leaves the low 31 bits all the same. */
static inline uint32_t partition_dividend(enum partition_reduction reduction, uint32_t hash)
{
	uint32_t masked = hash & 0x7fffffff;

	switch (reduction) {
	case REDUCE_mask:
		return masked;
	case REDUCE_mod:
		return hash;
	case REDUCE_abs:
		return hash & 0x80000000 ? 0 - hash : hash;
	case REDUCE_abs0:
		return hash == 0x80000000 ? 0 : hash & 0x80000000 ? 0 - hash : hash;
	case REDUCE_mask0:
		return masked == 0x7fffffff ? 0 : masked;
	case REDUCE_mask1:
		return masked ? masked : 1;
	}
	return hash;
}

/* Reduces a hash to a partition of [0, n), n > 0. */
static inline int32_t partition_reduce(enum partition_reduction reduction, uint32_t hash, int32_t n)
{
	return (int32_t)(partition_dividend(reduction, hash) % (uint32_t)n);
}

extern const struct partitioner partitioners[PARTITIONER_COUNT];

/* The partitioner of that name, or NULL. What it does with a key is placer_partition (sql/placer.h). */
const struct partitioner *partitioner_by_name(const char *name, size_t len);

#endif

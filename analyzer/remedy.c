/* remedy: the clients' settings, by the partitioner that they use without them. */
#include "analyzer/remedy.h"

#define SARAMA \
	"Sarama: NewMurmur2Partitioner, or NewCustomPartitioner(WithAbsFirst(), WithCustomHashFunction(murmur2))"
#define KAFKA_GO   "kafka-go: Murmur2Balancer"
#define LIBRDKAFKA "partitioner=murmur2_random"

/* X(partitioner, settings) */
#define TO_MURMUR2(X)                                                                                             \
	X(crc32, "librdkafka and its bindings: " LIBRDKAFKA " (node-rdkafka: in the topic config); ruby-kafka: "  \
		 "partitioner: Kafka::Partitioner.new(hash_function: :murmur2); " SARAMA "; " KAFKA_GO)           \
	X(fnv1a, SARAMA "; goka: a hasher of murmur2; " KAFKA_GO "; librdkafka: " LIBRDKAFKA                      \
			"; franz-go: StickyKeyPartitioner(nil); Benthos: partitioner: murmur2_hash")              \
	X(murmur2_unsigned,                                                                                       \
	  "librdkafka 0.11.4: a later version; KafkaEx before 1.0: a later version; "                             \
	  "@platformatic/kafka: compatibilityPartitioner; Redpanda HTTP Proxy: name the partition in "            \
	  "the request; Dekaf: a later version")                                                                  \
	X(murmur2_abs, SARAMA)                                                                                    \
	X(murmur2_seed0_unsigned, "node-sinek: a later version")                                                  \
	X(kafkajs_legacy, "KafkaJS 1: createPartitioner: Partitioners.JavaCompatiblePartitioner; KafkaJS 2: "     \
			  "createPartitioner: Partitioners.DefaultPartitioner")                                   \
	X(crc32_abs, SARAMA "; " KAFKA_GO)                                                                        \
	X(crc32_mask, SARAMA "; " KAFKA_GO)                                                                       \
	X(fnv1a_mask, SARAMA "; " KAFKA_GO "; Elastic Beats: produce through a client of murmur2")                \
	X(fnv1a_unsigned, KAFKA_GO "; franz-go: StickyKeyPartitioner(nil)")                                       \
	X(java_string_mask, "Scala producer: the Java producer; Pulsar: produce through a Kafka client")          \
	X(java_string_abs, "Spring Cloud Stream: no partitionKeyExpression, so that Kafka places the key; Scala " \
			   "producer: the Java producer; Maxwell, Canal: produce through a client of murmur2")    \
	X(java_bytes_mask, "Scala producer: the Java producer")                                                   \
	X(kafka_node_keyed, "kafka-node: a custom partitioner of murmur2 (partitionerType: 4)")                   \
	X(debezium_java_string, "Debezium: no PartitionRouting, so that Kafka places the key")                    \
	X(murmur3_mask, "Pulsar: produce through a Kafka client")                                                 \
	X(murmur3_maxwell_abs, "Maxwell: produce through a client of murmur2")                                    \
	X(xxhash32, "kafka-rust: a partitioner of murmur2, or rust-rdkafka with " LIBRDKAFKA)                     \
	X(phash2, "brod: a partitioner function of murmur2")

const char *remedy_to_murmur2(const struct partitioner *from)
{
	static const char *const texts[PARTITIONER_COUNT] = {
#define X(name, text) [PARTITIONER_##name] = text,
		TO_MURMUR2(X)
#undef X
	};

	return texts[from - partitioners];
}

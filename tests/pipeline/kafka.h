/* librdkafka handles as the programs use them: properties, a sink that loses nothing, counts and watermarks. */
#ifndef PIPELINE_KAFKA_H
#define PIPELINE_KAFKA_H

#include <librdkafka/rdkafka.h>

#include "opts.h"

/* A configuration with the brokers and a client name set; the caller owns it until kafka_open takes it. */
rd_kafka_conf_t *kafka_conf(const struct common *c);

/* Set a property; dies where librdkafka refuses it. */
void kafka_set(rd_kafka_conf_t *conf, const char *name, const char *value);

/* Apply the --property options and open the handle; takes conf. Dies where it cannot. */
rd_kafka_t *kafka_open(rd_kafka_type_t type, rd_kafka_conf_t *conf, const struct common *c);

/* A consumer that belongs to no group's rebalancing, for reading and for offsets of c->group; the caller closes it. */
rd_kafka_t *kafka_reader(const struct common *c, const char *isolation);

/* Close a consumer (or a producer without unsent records). */
void kafka_close(rd_kafka_t *rk);

/* The topic's partition count now, 0 where there is no such topic. Dies where no broker answers. */
int32_t kafka_partitions(rd_kafka_t *rk, const char *topic);

/* The same, waiting up to 10 s for the topic to exist; dies where it does not come. */
int32_t kafka_partitions_wait(rd_kafka_t *rk, const char *topic);

/* toPositive(murmur2(key)) % n, by librdkafka's own function. */
int32_t kafka_home(struct bytes key, int32_t n);

/* The partition that librdkafka's default, CRC32, gives a key. */
int32_t kafka_crc32(struct bytes key, int32_t n);

/* Log start and end of a partition; the end is the last stable offset where rk reads committed. */
void kafka_watermarks(rd_kafka_t *rk, const char *topic, int32_t partition, int64_t *low, int64_t *high);

/* A record's key or value as bytes; NULL data is null. */
struct bytes kafka_key(const rd_kafka_message_t *m);
struct bytes kafka_value(const rd_kafka_message_t *m);

/* A producer that counts what was delivered. Zero it, then sink_open. */
struct sink {
	rd_kafka_t *rk;
	rd_kafka_topic_t *met[2];
	int64_t delivered, failed;
	char why[256];                                            /* why the last one failed */
	void (*seen)(const rd_kafka_message_t *m, void *context); /* told of each delivery where set */
	void *context;
};

/* One record to produce; partition RD_KAFKA_PARTITION_UA lets the partitioner choose, timestamp 0 means now. */
struct outgoing {
	const char *topic;
	int32_t partition;
	struct bytes key, value;
	const char *source; /* header "source", NULL for none */
	int64_t timestamp;
	void *opaque; /* comes back in the delivered message's _private */
};

/* Open as an idempotent producer by murmur2; conf may be NULL or a configuration to add to, which is taken. */
void sink_open(struct sink *s, rd_kafka_conf_t *conf, const struct common *c);

/* Learn a topic's partitions now; left to itself librdkafka takes a second. NULL is no topic. */
void sink_meet(struct sink *s, const char *topic);

/* Queue a record, waiting while the queue is full; dies where it is refused. */
void sink_produce(struct sink *s, const struct outgoing *o);

/* Wait until everything queued is delivered; dies where something was not. */
void sink_flush(struct sink *s);

void sink_close(struct sink *s);

#endif

/* librdkafka handles as the programs use them: properties, a sink that loses nothing, counts and watermarks. */
#include "kafka.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TIMEOUT_MS 30000

rd_kafka_conf_t *kafka_conf(const struct common *c)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();

	opts_need(c->brokers, "brokers");
	kafka_set(conf, "bootstrap.servers", c->brokers);
	kafka_set(conf, "client.id", program_invocation_short_name);
	kafka_set(conf, "broker.address.family", "v4");
	return conf;
}

void kafka_set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
	char why[256];

	if (rd_kafka_conf_set(conf, name, value, why, sizeof(why)) != RD_KAFKA_CONF_OK)
		die("%s", why);
}

static void property_apply(rd_kafka_conf_t *conf, const char *property)
{
	const char *equals = strchr(property, '=');
	struct buf name = { 0 };

	if (!equals)
		die_usage("--property: \"%s\" is not name=value", property);
	buf_add(&name, property, (size_t)(equals - property));
	kafka_set(conf, name.data, equals + 1);
	buf_release(&name);
}

rd_kafka_t *kafka_open(rd_kafka_type_t type, rd_kafka_conf_t *conf, const struct common *c)
{
	char why[256];
	rd_kafka_t *rk;

	for (size_t i = 0; i < c->properties.count; i++)
		property_apply(conf, c->properties.item[i]);
	rk = rd_kafka_new(type, conf, why, sizeof(why));
	if (!rk)
		die("cannot open Kafka: %s", why);
	return rk;
}

rd_kafka_t *kafka_reader(const struct common *c, const char *isolation)
{
	rd_kafka_conf_t *conf = kafka_conf(c);
	rd_kafka_t *rk;

	kafka_set(conf, "group.id", c->group ? c->group : "fencepost-reader");
	kafka_set(conf, "isolation.level", isolation);
	kafka_set(conf, "enable.auto.commit", "false");
	kafka_set(conf, "enable.partition.eof", "true");
	kafka_set(conf, "auto.offset.reset", "error");
	kafka_set(conf, "fetch.wait.max.ms", "10");
	rk = kafka_open(RD_KAFKA_CONSUMER, conf, c);
	rd_kafka_poll_set_consumer(rk);
	return rk;
}

void kafka_close(rd_kafka_t *rk)
{
	if (rd_kafka_type(rk) == RD_KAFKA_CONSUMER)
		rd_kafka_consumer_close(rk);
	rd_kafka_destroy(rk);
}

int32_t kafka_partitions(rd_kafka_t *rk, const char *topic)
{
	rd_kafka_topic_t *handle = rd_kafka_topic_new(rk, topic, NULL);
	const struct rd_kafka_metadata *metadata;
	rd_kafka_resp_err_t err;
	int32_t n;

	if (!handle)
		die("topic %s: %s", topic, rd_kafka_err2str(rd_kafka_last_error()));
	err = rd_kafka_metadata(rk, 0, handle, &metadata, TIMEOUT_MS);
	rd_kafka_topic_destroy(handle);
	if (err)
		die("metadata of %s: %s", topic, rd_kafka_err2str(err));
	n = metadata->topic_cnt == 1 ? metadata->topics[0].partition_cnt : 0;
	rd_kafka_metadata_destroy(metadata);
	return n;
}

int32_t kafka_partitions_wait(rd_kafka_t *rk, const char *topic)
{
	int64_t until = tick_ms() + 10000;
	int32_t n;

	while (!(n = kafka_partitions(rk, topic))) {
		if (tick_ms() > until)
			die("there is no topic %s", topic);
		sleep_ms(50);
	}
	return n;
}

int32_t kafka_home(struct bytes key, int32_t n)
{
	return rd_kafka_msg_partitioner_murmur2(NULL, key.data, key.len, n, NULL, NULL);
}

int32_t kafka_crc32(struct bytes key, int32_t n)
{
	return rd_kafka_msg_partitioner_consistent(NULL, key.data, key.len, n, NULL, NULL);
}

void kafka_watermarks(rd_kafka_t *rk, const char *topic, int32_t partition, int64_t *low, int64_t *high)
{
	rd_kafka_resp_err_t err = rd_kafka_query_watermark_offsets(rk, topic, partition, low, high, TIMEOUT_MS);

	if (err)
		die("watermarks of %s/%d: %s", topic, partition, rd_kafka_err2str(err));
}

struct bytes kafka_key(const rd_kafka_message_t *m)
{
	return (struct bytes){ m->key, m->key_len };
}

struct bytes kafka_value(const rd_kafka_message_t *m)
{
	return (struct bytes){ m->payload, m->len };
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque)
{
	struct sink *s = opaque;

	(void)rk;
	if (m->err) {
		s->failed++;
		snprintf(s->why, sizeof(s->why), "%s: %s", rd_kafka_topic_name(m->rkt), rd_kafka_err2str(m->err));
		return;
	}
	s->delivered++;
	if (s->seen)
		s->seen(m, s->context);
}

void sink_open(struct sink *s, rd_kafka_conf_t *conf, const struct common *c)
{
	if (!conf)
		conf = kafka_conf(c);
	kafka_set(conf, "enable.idempotence", "true");
	kafka_set(conf, "partitioner", "murmur2");
	kafka_set(conf, "linger.ms", "2");
	kafka_set(conf, "queue.buffering.max.messages", "200000");
	kafka_set(conf, "topic.metadata.refresh.sparse", "true");
	rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
	rd_kafka_conf_set_opaque(conf, s);
	s->rk = kafka_open(RD_KAFKA_PRODUCER, conf, c);
}

void sink_meet(struct sink *s, const char *topic)
{
	int at = s->met[0] ? 1 : 0;

	if (!topic)
		return;
	s->met[at] = rd_kafka_topic_new(s->rk, topic, NULL);
	kafka_partitions_wait(s->rk, topic);
}

static rd_kafka_resp_err_t produce_once(struct sink *s, const struct outgoing *o)
{
	rd_kafka_headers_t *headers = rd_kafka_headers_new(1);
	rd_kafka_resp_err_t err;

	if (o->source)
		rd_kafka_header_add(headers, "source", -1, o->source, -1);
	err = rd_kafka_producev(s->rk, RD_KAFKA_V_TOPIC(o->topic), RD_KAFKA_V_PARTITION(o->partition),
				RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(o->key.data, o->key.len),
				RD_KAFKA_V_VALUE((void *)(uintptr_t)o->value.data, o->value.len),
				RD_KAFKA_V_TIMESTAMP(o->timestamp), RD_KAFKA_V_HEADERS(headers),
				RD_KAFKA_V_OPAQUE(o->opaque), RD_KAFKA_V_END);
	if (err)
		rd_kafka_headers_destroy(headers);
	return err;
}

void sink_produce(struct sink *s, const struct outgoing *o)
{
	rd_kafka_resp_err_t err;

	while ((err = produce_once(s, o)) == RD_KAFKA_RESP_ERR__QUEUE_FULL)
		rd_kafka_poll(s->rk, 100);
	if (err)
		die("produce to %s/%d: %s", o->topic, o->partition, rd_kafka_err2str(err));
	rd_kafka_poll(s->rk, 0);
}

void sink_flush(struct sink *s)
{
	rd_kafka_resp_err_t err = rd_kafka_flush(s->rk, 2 * TIMEOUT_MS);

	if (err)
		die("flush: %s", rd_kafka_err2str(err));
	if (s->failed)
		die("%lld records were not delivered: %s", (long long)s->failed, s->why);
}

void sink_close(struct sink *s)
{
	for (int i = 0; i < 2; i++)
		if (s->met[i])
			rd_kafka_topic_destroy(s->met[i]);
	rd_kafka_destroy(s->rk);
	*s = (struct sink){ 0 };
}

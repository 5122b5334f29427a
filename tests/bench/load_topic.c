/*
 * load_topic: fills a topic fast, and a Redis with the state that a faultless worker would have left. For benchmarks.
 *
 *     load_topic [-b SERVERS] [-u SOCKET] [-n RECORDS] [-k KEYS] [-p PARTITIONS] [-e END_MS] TOPIC
 *
 * Record i has one of KEYS keys ("user-" and ten digits), drawn by a fixed seed, 80 bytes of value, and goes to its home partition; timestamps spread
 * evenly over the seven days before END_MS. -b: produce into TOPIC, which must be new and empty. -u: write the hash state:{key} of every key met
 * (value, offset and partition of its newest record) and epoch:{topic}:{partition} = 1. Prints one JSON object.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hiredis/hiredis.h>
#include <librdkafka/rdkafka.h>

#include "sql/mem.h"
#include "sql/partitioner.h"

enum { KEY_SIZE = 15, VALUE_SIZE = 80, PIPELINE = 2000, PARTITIONS_MAX = 1024 };

static const int64_t SPREAD_MS = (int64_t)7 * 24 * 3600 * 1000;

struct load {
	const char *servers, *socket, *topic;
	int64_t records, keys, end_ms;
	int32_t partitions;
	int64_t *newest;                /* by key: offset of its newest record, -1 none */
	int64_t next[PARTITIONS_MAX];   /* by partition: the next offset */
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "load_topic: %s: %s\n", what, why);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* splitmix64: the same keys in every run. */
static uint64_t draw(uint64_t i)
{
	uint64_t z = (i + 1) * 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static void name_key(char *key, int64_t number)
{
	memcpy(key, "user-", 5);
	for (int i = KEY_SIZE - 1; i >= 5; i--, number /= 10)
		key[i] = (char)('0' + number % 10);
}

/* --- Kafka -------------------------------------------------------------------------------------------------------------------------- */

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
	(void)rk;
	(void)opaque;
	if (message->err)
		die("produce", rd_kafka_err2str(message->err));
}

/* No retries: offsets are counted here, and an order that a retry breaks would make them wrong. */
static rd_kafka_t *open_producer(const char *servers)
{
	static const char *const settings[][2] = {
		{ "acks", "1" },
		{ "retries", "0" },
		{ "linger.ms", "20" },
		{ "batch.size", "1000000" },
		{ "batch.num.messages", "100000" },
		{ "queue.buffering.max.messages", "1000000" },
		{ "queue.buffering.max.kbytes", "262144" },
		{ "delivery.report.only.error", "true" },
	};
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char words[256];
	rd_kafka_t *rk;

	rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (rd_kafka_conf_set(conf, settings[i][0], settings[i][1], words, sizeof(words)) != RD_KAFKA_CONF_OK)
			die(settings[i][0], words);
	if (rd_kafka_conf_set(conf, "bootstrap.servers", servers, words, sizeof(words)) != RD_KAFKA_CONF_OK)
		die("bootstrap.servers", words);
	rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, words, sizeof(words));
	if (!rk)
		die("producer", words);
	return rk;
}

struct outgoing {
	rd_kafka_topic_t *rkt;
	int32_t partition;
	int64_t ms;
	char key[KEY_SIZE], value[VALUE_SIZE + 1];
};

static void produce_one(rd_kafka_t *rk, struct outgoing *o)
{
	rd_kafka_resp_err_t err;

	do {
		err = rd_kafka_producev(rk, RD_KAFKA_V_RKT(o->rkt), RD_KAFKA_V_PARTITION(o->partition),
					RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(o->key, KEY_SIZE),
					RD_KAFKA_V_VALUE(o->value, VALUE_SIZE), RD_KAFKA_V_TIMESTAMP(o->ms), RD_KAFKA_V_END);
		if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL)
			rd_kafka_poll(rk, 5);
	} while (err == RD_KAFKA_RESP_ERR__QUEUE_FULL);
	if (err)
		die("produce", rd_kafka_err2str(err));
}

static void produce(struct load *l)
{
	rd_kafka_t *rk = open_producer(l->servers);
	struct outgoing o = { .rkt = rd_kafka_topic_new(rk, l->topic, NULL) };

	memset(o.value, '.', sizeof(o.value));
	for (int64_t i = 0; i < l->records; i++) {
		name_key(o.key, (int64_t)(draw((uint64_t)i) % (uint64_t)l->keys));
		o.value[snprintf(o.value, sizeof(o.value), "value of record %014" PRId64, i)] = '.';
		o.partition = home_partition(o.key, KEY_SIZE, l->partitions);
		o.ms = l->end_ms - SPREAD_MS + (int64_t)((double)SPREAD_MS * (double)i / (double)l->records);
		produce_one(rk, &o);
		if (i % 10000 == 0)
			rd_kafka_poll(rk, 0);
	}
	if (rd_kafka_flush(rk, 300000))
		die("produce", "not everything was delivered");
	rd_kafka_topic_destroy(o.rkt);
	rd_kafka_destroy(rk);
}

/* --- Redis -------------------------------------------------------------------------------------------------------------------------- */

static void find_newest(struct load *l)
{
	char key[KEY_SIZE];

	for (int64_t i = 0; i < l->keys; i++)
		l->newest[i] = -1;
	for (int64_t i = 0; i < l->records; i++) {
		int64_t number = (int64_t)(draw((uint64_t)i) % (uint64_t)l->keys);

		name_key(key, number);
		l->newest[number] = l->next[home_partition(key, KEY_SIZE, l->partitions)]++;
	}
}

static void collect(redisContext *c, size_t replies)
{
	redisReply *reply;

	for (size_t i = 0; i < replies; i++) {
		if (redisGetReply(c, (void **)&reply) != REDIS_OK)
			die("write to Redis", c->errstr);
		if (reply->type == REDIS_REPLY_ERROR)
			die("write to Redis", reply->str);
		freeReplyObject(reply);
	}
}

static int64_t fill_redis(struct load *l)
{
	redisContext *c = redisConnectUnix(l->socket);
	int64_t met = 0;
	size_t sent = 0;
	char key[KEY_SIZE];

	if (!c || c->err)
		die("connect to Redis", c ? c->errstr : l->socket);
	for (int32_t p = 0; p < l->partitions; p++)
		redisAppendCommand(c, "SET epoch:%s:%d 1", l->topic, (int)p);
	collect(c, (size_t)l->partitions);
	for (int64_t i = 0; i < l->keys; i++) {
		if (l->newest[i] < 0)
			continue;
		name_key(key, i);
		redisAppendCommand(c, "HSET state:%b value %s offset %lld partition %d", key, (size_t)KEY_SIZE, "0123456789abcdef",
				   (long long)l->newest[i], (int)home_partition(key, KEY_SIZE, l->partitions));
		met++;
		if (++sent < PIPELINE)
			continue;
		collect(c, sent);
		sent = 0;
	}
	collect(c, sent);
	redisFree(c);
	return met;
}

int main(int argc, char **argv)
{
	struct load l = { .records = 2000000, .keys = 200000, .partitions = 12, .end_ms = (int64_t)time(NULL) * 1000 };
	double begun = now();
	int64_t met = 0;
	int option;

	while ((option = getopt(argc, argv, "b:u:n:k:p:e:")) != -1) {
		if (option == 'b')
			l.servers = optarg;
		else if (option == 'u')
			l.socket = optarg;
		else if (option == 'n')
			l.records = atoll(optarg);
		else if (option == 'k')
			l.keys = atoll(optarg);
		else if (option == 'p')
			l.partitions = atoi(optarg);
		else if (option == 'e')
			l.end_ms = atoll(optarg);
		else
			return 64;
	}
	if (optind + 1 != argc || l.records < 1 || l.keys < 1 || l.partitions < 1 || l.partitions > PARTITIONS_MAX)
		return 64;
	l.topic = argv[optind];
	if (l.servers)
		produce(&l);
	if (l.socket) {
		l.newest = xarray((size_t)l.keys, sizeof(*l.newest));
		find_newest(&l);
		met = fill_redis(&l);
		free(l.newest);
	}
	printf("{\"records\": %" PRId64 ", \"keys\": %" PRId64 ", \"seconds\": %.3f}\n", l.records, met, now() - begun);
	return 0;
}

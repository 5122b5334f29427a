/*
 * replay_bench: the floor of a replay: librdkafka alone, consumers with disjoint partitions, callbacks that drop
 * the records, check.crcs on.
 *
 *     replay_bench -b SERVERS [-n HANDLES] [-X prop=val] TOPIC
 *
 * Prints {"records": N, "seconds": S, "rate": R} on stdout.
 */
#include <getopt.h>
#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HANDLES_MAX = 16, PARTITIONS_MAX = 1024, SETTINGS_MAX = 64 };

struct settings {
	const char *name[SETTINGS_MAX], *value[SETTINGS_MAX];
	int count;
};

struct handle {
	const struct settings *settings;
	const char *topic;
	int index, of, partitions;
	int64_t end[PARTITIONS_MAX];
	int open;
	int64_t records;
	rd_kafka_t *rk;
	rd_kafka_queue_t *queue;
	rd_kafka_topic_t *rkt;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void add(struct settings *s, const char *name, const char *value)
{
	s->name[s->count] = name;
	s->value[s->count++] = value;
}

static void drop(rd_kafka_message_t *message, void *opaque)
{
	struct handle *h = opaque;

	if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF && message->offset >= h->end[message->partition] &&
	    h->end[message->partition] >= 0) {
		h->end[message->partition] = -1;
		h->open--;
	} else if (!message->err) {
		h->records++;
	}
}

static rd_kafka_t *client(const struct settings *settings)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char words[256];
	rd_kafka_t *rk;

	for (int i = 0; i < settings->count; i++)
		if (rd_kafka_conf_set(conf, settings->name[i], settings->value[i], words, sizeof(words)) !=
		    RD_KAFKA_CONF_OK) {
			fprintf(stderr, "%s\n", words);
			exit(64);
		}
	rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, words, sizeof(words));
	if (!rk) {
		fprintf(stderr, "%s\n", words);
		exit(1);
	}
	return rk;
}

static void *consume(void *argument)
{
	struct handle *h = argument;

	for (int p = h->index; p < h->partitions; p += h->of) {
		rd_kafka_consume_start_queue(h->rkt, p, RD_KAFKA_OFFSET_BEGINNING, h->queue);
		h->open++;
	}
	while (h->open > 0)
		rd_kafka_consume_callback_queue(h->queue, 100, drop, h);
	return NULL;
}

static void open_handle(struct handle *h)
{
	h->rk = client(h->settings);
	h->queue = rd_kafka_queue_new(h->rk);
	h->rkt = rd_kafka_topic_new(h->rk, h->topic, NULL);
}

static void look(struct handle *h)
{
	const struct rd_kafka_metadata *metadata;
	int64_t low;

	if (rd_kafka_metadata(h->rk, 0, h->rkt, &metadata, 10000) || metadata->topic_cnt != 1)
		exit(1);
	h->partitions = metadata->topics[0].partition_cnt;
	rd_kafka_metadata_destroy(metadata);
	for (int p = 0; p < h->partitions && p < PARTITIONS_MAX; p++)
		if (rd_kafka_query_watermark_offsets(h->rk, h->topic, p, &low, &h->end[p], 10000))
			exit(1);
}

int main(int argc, char **argv)
{
	static struct handle handles[HANDLES_MAX];
	struct settings settings = { .count = 0 };
	pthread_t threads[HANDLES_MAX];
	int option, count = 2;
	int64_t records = 0;
	double begun;
	char *value;

	add(&settings, "check.crcs", "true");
	add(&settings, "enable.partition.eof", "true");
	add(&settings, "queued.min.messages", "200000");
	add(&settings, "queued.max.messages.kbytes", "32768");
	add(&settings, "fetch.wait.max.ms", "10");
	while ((option = getopt(argc, argv, "b:n:X:")) != -1) {
		if (option == 'b')
			add(&settings, "bootstrap.servers", optarg);
		else if (option == 'n')
			count = atoi(optarg);
		else if (option == 'X' && (value = strchr(optarg, '=')) != NULL) {
			*value = '\0';
			add(&settings, optarg, value + 1);
		} else {
			return 64;
		}
	}
	if (optind + 1 != argc || count < 1 || count > HANDLES_MAX)
		return 64;
	begun = now();
	for (int i = 0; i < count; i++) {
		handles[i] = (struct handle){ .settings = &settings, .topic = argv[optind], .index = i, .of = count };
		open_handle(&handles[i]);
	}
	for (int i = 0; i < count; i++) {
		look(&handles[i]);
		pthread_create(&threads[i], NULL, consume, &handles[i]);
	}
	for (int i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		records += handles[i].records;
	}
	begun = now() - begun;
	printf("{\"records\": %lld, \"seconds\": %.3f, \"rate\": %.0f}\n", (long long)records, begun,
	       (double)records / begun);
	fflush(stdout);
	for (int i = 0; i < count; i++) {
		rd_kafka_topic_destroy(handles[i].rkt);
		rd_kafka_queue_destroy(handles[i].queue);
		rd_kafka_destroy(handles[i].rk);
	}
	return 0;
}

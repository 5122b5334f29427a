/*
 * librdkafka's mock cluster as a process:
 *
 *   mockbroker --topic orders:6 --topic orders-dlq:1 [--brokers 1]
 *
 * prints bootstrap.servers on stdout and runs until SIGTERM, SIGINT or the end of stdin, so that it never outlives
 * who started it. A partition keeps at most 5 MiB or 100,000 records; then its log start moves.
 */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opts.h"

#define AT_ONCE 256 /* topics created side by side: a cluster without clients sleeps up to a second before each lot */

struct creation {
	pthread_t thread;
	rd_kafka_mock_cluster_t *cluster;
	const char *spec;
	int replicas;
};

static void *topic_create(void *argument)
{
	const struct creation *c = argument;
	char *name = xstrdup(c->spec);
	char *colon = strrchr(name, ':');
	int64_t partitions = 1;
	rd_kafka_resp_err_t err;

	if (colon && (!parse_int64(bytes_of(colon + 1), &partitions) || partitions < 1 || partitions > 10000))
		die_usage("--topic: \"%s\" is not name:partitions", c->spec);
	if (colon)
		*colon = '\0';
	err = rd_kafka_mock_topic_create(c->cluster, name, (int)partitions, c->replicas);
	if (err)
		die("topic %s: %s", name, rd_kafka_err2str(err));
	free(name);
	return NULL;
}

static void topics_create(rd_kafka_mock_cluster_t *cluster, const struct opt_list *topics, int brokers)
{
	struct creation creations[AT_ONCE];

	for (size_t from = 0; from < topics->count; from += AT_ONCE) {
		size_t n = topics->count - from < AT_ONCE ? topics->count - from : AT_ONCE;

		for (size_t i = 0; i < n; i++) {
			creations[i] = (struct creation){
				.cluster = cluster, .spec = topics->item[from + i], .replicas = brokers < 3 ? brokers : 3
			};
			if (pthread_create(&creations[i].thread, NULL, topic_create, &creations[i]))
				die("no thread to create topic %s", topics->item[from + i]);
		}
		for (size_t i = 0; i < n; i++)
			pthread_join(creations[i].thread, NULL);
	}
}

/* Until a signal that was blocked before comes in, or stdin ends. */
static void wait_for_end(const sigset_t *signals)
{
	struct timespec moment = { .tv_sec = 0, .tv_nsec = 50000000 };
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	char part[256];

	for (;;) {
		if (sigtimedwait(signals, NULL, &moment) > 0)
			return;
		if (poll(&input, 1, 0) > 0 && read(STDIN_FILENO, part, sizeof(part)) <= 0)
			return;
	}
}

int main(int argc, char **argv)
{
	struct opt_list topics = { 0 };
	int64_t brokers = 1;
	const struct opt opts[] = {
		{ "topic", OPT_LIST, &topics, "name:partitions, as often as needed" },
		{ "brokers", OPT_INT, &brokers, "number of brokers, default 1" },
		OPTS_END,
	};
	rd_kafka_mock_cluster_t *cluster;
	rd_kafka_t *rk;
	sigset_t signals;
	char why[256];

	opts_parse(opts, argc, argv, NULL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	rk = rd_kafka_new(RD_KAFKA_PRODUCER, NULL, why, sizeof(why));
	cluster = rk ? rd_kafka_mock_cluster_new(rk, (int)brokers) : NULL;
	if (!cluster)
		die("cannot start the mock cluster: %s", rk ? "no reason given" : why);
	topics_create(cluster, &topics, (int)brokers);
	puts(rd_kafka_mock_cluster_bootstraps(cluster));
	fflush(stdout);
	wait_for_end(&signals);
	rd_kafka_mock_cluster_destroy(cluster);
	rd_kafka_destroy(rk);
	free(topics.item);
	return 0;
}

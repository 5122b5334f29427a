/* kafka_nudge: looks at the queues, asks for offsets. */
#include "ingest/kafka_nudge.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "sql/mem.h"

enum {
	LOOK_MS = 20,
	LOW = 50000,     /* messages: at 5 M/s a hundredth of a second */
	ANSWER_MS = 200, /* the longest that an end is delayed; the answer itself is not used */
};

struct nudged {
	rd_kafka_t *rk;
	rd_kafka_queue_t *queue;
	rd_kafka_topic_partition_list_t *partitions;
	size_t length; /* of the queue, when looked at last */
};

struct kafka_nudge {
	struct nudged clients[KAFKA_HANDLES_MAX];
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t stop;
	bool running, stopping;
};

struct kafka_nudge *kafka_nudge_new(void)
{
	struct kafka_nudge *nudge = xalloc(sizeof(*nudge));
	pthread_condattr_t attributes;

	pthread_mutex_init(&nudge->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&nudge->stop, &attributes);
	pthread_condattr_destroy(&attributes);
	return nudge;
}

void kafka_nudge_add(struct kafka_nudge *nudge, size_t client, rd_kafka_t *rk, rd_kafka_queue_t *queue,
		     const char *topic, int32_t partition)
{
	struct nudged *nudged = &nudge->clients[client];

	nudged->rk = rk;
	nudged->queue = queue;
	if (!nudged->partitions)
		nudged->partitions = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(nudged->partitions, topic, partition);
}

static void look(struct nudged *nudged)
{
	size_t before = nudged->length;

	nudged->length = rd_kafka_queue_length(nudged->queue);
	if (nudged->length >= LOW || nudged->length > before)
		return;
	for (int i = 0; i < nudged->partitions->cnt; i++)
		nudged->partitions->elems[i].offset = RD_KAFKA_OFFSET_END;
	rd_kafka_offsets_for_times(nudged->rk, nudged->partitions, ANSWER_MS);
}

/* True: it is time to end. */
static bool wait_for_stop(struct kafka_nudge *nudge)
{
	struct timespec until;
	bool stopping;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += LOOK_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	pthread_mutex_lock(&nudge->lock);
	if (!nudge->stopping)
		pthread_cond_timedwait(&nudge->stop, &nudge->lock, &until);
	stopping = nudge->stopping;
	pthread_mutex_unlock(&nudge->lock);
	return stopping;
}

static void *look_at_all(void *argument)
{
	struct kafka_nudge *nudge = argument;

	while (!wait_for_stop(nudge))
		for (size_t i = 0; i < KAFKA_HANDLES_MAX; i++)
			if (nudge->clients[i].partitions)
				look(&nudge->clients[i]);
	return NULL;
}

void kafka_nudge_start(struct kafka_nudge *nudge)
{
	nudge->running = pthread_create(&nudge->thread, NULL, look_at_all, nudge) == 0;
}

void kafka_nudge_stop(struct kafka_nudge *nudge)
{
	if (!nudge)
		return;
	if (nudge->running) {
		pthread_mutex_lock(&nudge->lock);
		nudge->stopping = true;
		pthread_cond_signal(&nudge->stop);
		pthread_mutex_unlock(&nudge->lock);
		pthread_join(nudge->thread, NULL);
	}
	for (size_t i = 0; i < KAFKA_HANDLES_MAX; i++)
		if (nudge->clients[i].partitions)
			rd_kafka_topic_partition_list_destroy(nudge->clients[i].partitions);
	pthread_cond_destroy(&nudge->stop);
	pthread_mutex_destroy(&nudge->lock);
	free(nudge);
}

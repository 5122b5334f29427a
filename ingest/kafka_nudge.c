/* kafka_nudge: looks at the queues, asks for offsets. */
#include "ingest/kafka_nudge.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

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
	int stop; /* an eventfd */
	bool running;
};

struct kafka_nudge *kafka_nudge_new(void)
{
	struct kafka_nudge *nudge = xalloc(sizeof(*nudge));

	nudge->stop = eventfd(0, EFD_CLOEXEC);
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

static void *look_at_all(void *argument)
{
	struct kafka_nudge *nudge = argument;
	struct pollfd stop = { .fd = nudge->stop, .events = POLLIN };

	while (poll(&stop, 1, LOOK_MS) <= 0)
		for (size_t i = 0; i < KAFKA_HANDLES_MAX; i++)
			if (nudge->clients[i].partitions)
				look(&nudge->clients[i]);
	return NULL;
}

void kafka_nudge_start(struct kafka_nudge *nudge)
{
	nudge->running = nudge->stop >= 0 && pthread_create(&nudge->thread, NULL, look_at_all, nudge) == 0;
}

void kafka_nudge_stop(struct kafka_nudge *nudge)
{
	if (!nudge)
		return;
	if (nudge->running) {
		eventfd_write(nudge->stop, 1);
		pthread_join(nudge->thread, NULL);
	}
	for (size_t i = 0; i < KAFKA_HANDLES_MAX; i++)
		if (nudge->clients[i].partitions)
			rd_kafka_topic_partition_list_destroy(nudge->clients[i].partitions);
	if (nudge->stop >= 0)
		close(nudge->stop);
	free(nudge);
}

/*
 * kafka_nudge: keeps librdkafka fetching while records are taken as fast as they come.
 *
 * A client whose queue has reached queued.min.messages or queued.max.messages.kbytes stops fetching, and its broker
 * thread then sleeps until it is woken, or for a second, however soon the queue is empty again (librdkafka issue
 * 2879; fetch.queue.backoff.ms exists from 2.2.0 on only). A replay falls to half its speed by that; larger limits
 * would avoid it at the price of memory. Any request to the broker wakes the thread, so a thread of our own asks
 * for the latest offsets of the client's partitions, which writes nothing and needs no right that a replay has not,
 * whenever the queue has run low. Internal to the files kafka_*.c.
 */
#ifndef INGEST_KAFKA_NUDGE_H
#define INGEST_KAFKA_NUDGE_H

#include <stddef.h>
#include <stdint.h>

#include "ingest/kafka_client.h"

struct kafka_nudge;

/* No client yet. Does nothing until kafka_nudge_start. */
struct kafka_nudge *kafka_nudge_new(void);

/* The client reads this partition. Before the start only; the client must outlive the nudge. */
void kafka_nudge_add(struct kafka_nudge *nudge, size_t client, rd_kafka_t *rk, rd_kafka_queue_t *queue,
		     const char *topic, int32_t partition);

/* Without a thread to be had reading is slower, and no more. */
void kafka_nudge_start(struct kafka_nudge *nudge);

/* Ends the thread and frees. NULL is allowed. */
void kafka_nudge_stop(struct kafka_nudge *nudge);

#endif

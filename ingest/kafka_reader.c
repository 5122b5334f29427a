/* kafka_reader: the loop around rd_kafka_consume_callback_queue. */
#include "ingest/kafka_reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/kafka_nudge.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"

enum {
	SERVE_MS = 50,     /* the longest wait for records at a time */
	CHECK_US = 250000, /* how often stretches without progress are looked at */
	/* an end that lies too low must do so for this long: a new leader may lag for a moment */
	FELL_US = 1000000,
	QUERY_MS = 1000,
	NUDGE_RECORDS = 10000,
};

/* The stretches of one topic, by partition. */
struct reader_topic {
	rd_kafka_topic_t *rkt;
	const char *name;
	struct stretch **current;
	int32_t partitions;
};

/* One thread and its client. */
struct reader {
	struct kafka_client *client;
	const struct run *run;
	const struct read_ops *ops;
	void *context, *thread;
	struct reader_topic *topics;
	size_t topic_count;
	const struct reader_topic *last; /* of the newest message */
	struct stretch **stretches;      /* the ones being read; over ones are swept out */
	size_t count;
	bool ended;      /* one of them is over, or must be looked at */
	bool got;        /* the last serve gave a record */
	int64_t idle_us; /* time spent without any record: a slow writer is no silent broker */
};

/* --- the hot path ------------------------------------------------------------------------------------------------ */

static struct stretch *find_slow(struct reader *r, const rd_kafka_message_t *message)
{
	for (size_t i = 0; i < r->topic_count; i++)
		if (r->topics[i].rkt == message->rkt) {
			r->last = &r->topics[i];
			return message->partition < r->last->partitions ? r->last->current[message->partition] : NULL;
		}
	return NULL;
}

static inline struct stretch *find(struct reader *r, const rd_kafka_message_t *message)
{
	if (r->last && r->last->rkt == message->rkt && message->partition < r->last->partitions)
		return r->last->current[message->partition];
	return find_slow(r, message);
}

static void end_stretch(struct reader *r, struct stretch *s)
{
	s->over = true;
	r->ended = true;
	s->covered = s->next >= s->end && !s->trouble.text[0] && !s->beyond;
}

static void fail(struct reader *r, struct stretch *s, const char *words)
{
	trouble_set(&s->trouble, "%s/%" PRId32 ": at %" PRId64 " of [%" PRId64 ",%" PRId64 "): %s", s->topic,
		    s->partition, s->next, s->begin, s->end, words);
	end_stretch(r, s);
}

static void advance(struct reader *r, struct stretch *s, int64_t position)
{
	if (position > s->next)
		s->next = position < s->end ? position : s->end;
	if (s->next >= s->end)
		end_stretch(r, s);
}

static void on_event(struct reader *r, struct stretch *s, const rd_kafka_message_t *message)
{
	switch (message->err) {
	case RD_KAFKA_RESP_ERR__PARTITION_EOF:
		if (!FAULT(KAFKA_EOF))
			advance(r, s, message->offset);
		break;
	case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
		s->out_of_range = r->ended = true; /* looked at after this serve */
		if (message->offset <= s->end)
			advance(r, s, message->offset);
		break;
	case RD_KAFKA_RESP_ERR__BAD_MSG:
		if (message->offset >= s->next && message->offset < s->end)
			s->next = message->offset;
		fail(r, s, "a record batch is damaged: its checksum or its form is wrong");
		break;
	default:
		s->error = message->err;
		if (!kafka_err_passes(message->err))
			fail(r, s, kafka_err_words(message->err));
	}
}

static void on_message(rd_kafka_message_t *message, void *opaque)
{
	struct reader *r = opaque;
	struct stretch *s = find(r, message);

	if (!s || s->over)
		return;
	if (message->err) {
		on_event(r, s, message);
		return;
	}
	if (FAULT(KAFKA_MESSAGE)) {
		fail(r, s, kafka_err_words(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED));
		return;
	}
	r->got = true;
	if (message->offset < s->next)
		return;
	if (message->offset < s->end) {
		enum take take = r->ops->take(r->thread, s, message);

		if (take != TAKE_MORE) {
			end_stretch(r, s);
			s->covered = false;
			return;
		}
	}
	advance(r, s, message->offset + 1);
}

/* --- beginning and ending stretches ------------------------------------------------------------------------------ */

static struct reader_topic *topic_of(struct reader *r, const char *name)
{
	struct reader_topic *topic;

	for (size_t i = 0; i < r->topic_count; i++)
		if (strcmp(r->topics[i].name, name) == 0)
			return &r->topics[i];
	r->topics = xgrow(r->topics, r->topic_count + 1, sizeof(*r->topics));
	r->last = NULL;
	topic = &r->topics[r->topic_count++];
	*topic = (struct reader_topic){ .name = name, .rkt = rd_kafka_topic_new(r->client->rk, name, NULL) };
	return topic;
}

static void place(struct reader_topic *topic, struct stretch *s)
{
	if (s->partition >= topic->partitions) {
		int32_t room = s->partition + 1;

		topic->current = xgrow(topic->current, (size_t)room, sizeof(struct stretch *));
		while (topic->partitions < room)
			topic->current[topic->partitions++] = NULL;
	}
	topic->current[s->partition] = s;
}

static void consume(struct reader *r, struct stretch *s)
{
	if (FAULT(KAFKA_CONSUME) || rd_kafka_consume_start_queue(s->rkt, s->partition, s->next, r->client->queue) < 0)
		fail(r, s, rd_kafka_err2str(rd_kafka_last_error()));
	else
		s->started = true;
}

static void begin(struct reader *r, struct stretch *s)
{
	struct reader_topic *topic = topic_of(r, s->topic);

	s->begin = s->seen_next = s->next;
	s->idle_us = r->idle_us;
	s->rkt = topic->rkt;
	place(topic, s);
	if (!s->rkt)
		fail(r, s, rd_kafka_err2str(rd_kafka_last_error()));
	else if (s->next >= s->end)
		end_stretch(r, s);
	else if (run_stopped(r->run))
		fail(r, s, "stopped");
	else
		consume(r, s);
}

static void stop(struct stretch *s)
{
	if (s->started)
		rd_kafka_consume_stop(s->rkt, s->partition);
	s->started = false;
}

/* What follows a stretch that was not read whole is not read either. */
static struct stretch *follow(struct reader *r, struct stretch *s)
{
	bool whole = s->covered;
	struct trouble why = s->trouble;

	s = s->then;
	if (whole || !s)
		return s;
	for (; s; s = s->then) {
		s->trouble = why;
		if (r->ops->over)
			r->ops->over(r->thread, s);
	}
	return NULL;
}

/* Takes the stretches that are over out, and begins what follows them. Following ones may be over at once. */
static void sweep(struct reader *r)
{
	while (r->ended) {
		size_t kept = 0;

		r->ended = false;
		for (size_t i = 0; i < r->count; i++) {
			struct stretch *s = r->stretches[i];

			if (s->over) {
				stop(s);
				if (r->ops->over)
					r->ops->over(r->thread, s);
				s = follow(r, s);
				if (!s)
					continue;
				begin(r, s);
			}
			r->stretches[kept++] = s;
		}
		r->count = kept;
	}
}

/* --- stretches without progress ---------------------------------------------------------------------------------- */

static bool watermarks(struct reader *r, struct stretch *s, int64_t *low, int64_t *high)
{
	rd_kafka_resp_err_t err =
		FAULT(KAFKA_WATERMARKS)
			? RD_KAFKA_RESP_ERR__TRANSPORT
			: rd_kafka_query_watermark_offsets(r->client->rk, s->topic, s->partition, low, high, QUERY_MS);

	if (err)
		s->error = err;
	return !err;
}

/* The broker refused the position: it lies below the log start, or above the end. */
static void look_out_of_range(struct reader *r, struct stretch *s)
{
	int64_t low, high;

	if (!watermarks(r, s, &low, &high))
		return;
	if (s->next > high) {
		s->beyond = true;
		end_stretch(r, s);
		return;
	}
	stop(s);
	s->out_of_range = false;
	if (s->next < low) {
		enum take take = r->ops->trimmed ? r->ops->trimmed(r->thread, s, low) : TAKE_MORE;

		if (take != TAKE_MORE)
			end_stretch(r, s);
		else
			advance(r, s, low);
	}
	if (!s->over)
		consume(r, s);
}

/*
 * Nothing comes though the end is not reached: has the end fallen? Markers at the position are passed by
 * rd_kafka_position alone.
 */
static void look_for_end(struct reader *r, struct stretch *s)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	int64_t low, high, now = run_tick_us(r->run);

	rd_kafka_topic_partition_list_add(list, s->topic, s->partition);
	if (!FAULT(KAFKA_POSITION) && rd_kafka_position(r->client->rk, list) == RD_KAFKA_RESP_ERR_NO_ERROR &&
	    list->elems[0].offset > s->next)
		advance(r, s, list->elems[0].offset);
	rd_kafka_topic_partition_list_destroy(list);
	if (s->over || s->next > s->seen_next || !watermarks(r, s, &low, &high))
		return;
	if (high >= s->end) {
		s->fell_us = 0;
	} else if (s->fell_us == 0) {
		s->fell_us = now;
	} else if (now - s->fell_us >= FELL_US) {
		s->beyond = true;
		end_stretch(r, s);
	}
}

static void check(struct reader *r)
{
	int64_t timeout_us = r->client->source->timeout_ms * 1000;

	rd_kafka_poll(r->client->rk, 0);
	for (size_t i = 0; i < r->count; i++) {
		struct stretch *s = r->stretches[i];

		if (s->over)
			continue;
		if (run_stopped(r->run)) {
			fail(r, s, "stopped");
		} else if (s->out_of_range) {
			look_out_of_range(r, s);
		} else if (s->next == s->seen_next && r->idle_us - s->idle_us > CHECK_US) {
			look_for_end(r, s);
		}
		if (s->next != s->seen_next) {
			s->seen_next = s->next;
			s->idle_us = r->idle_us;
			s->error = RD_KAFKA_RESP_ERR_NO_ERROR;
		}
		if (!s->over && (r->client->denied || r->idle_us - s->idle_us > timeout_us))
			fail(r, s, kafka_client_words(r->client, s->error));
	}
}

/* --- threads ----------------------------------------------------------------------------------------------------- */

static void *read_all(void *argument)
{
	struct reader *r = argument;
	int64_t checked, before, now;

	r->thread = r->ops->enter ? r->ops->enter(r->context) : r->context;
	for (size_t i = 0; i < r->count; i++)
		begin(r, r->stretches[i]);
	sweep(r);
	checked = now = run_tick_us(r->run);
	while (r->count > 0) {
		before = now;
		r->got = false;
		rd_kafka_consume_callback_queue(r->client->queue, SERVE_MS, on_message, r);
		now = run_tick_us(r->run);
		if (!r->got)
			r->idle_us += now - before;
		if (now - checked > CHECK_US || r->ended) {
			check(r);
			checked = now;
		}
		sweep(r);
	}
	if (r->ops->leave)
		r->ops->leave(r->thread);
	for (size_t i = 0; i < r->topic_count; i++) {
		if (r->topics[i].rkt)
			rd_kafka_topic_destroy(r->topics[i].rkt);
		free(r->topics[i].current);
	}
	free(r->topics);
	free(r->stretches);
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	const struct stretch *x = *(struct stretch *const *)a, *y = *(struct stretch *const *)b;

	return (y->end - y->next > x->end - x->next) - (y->end - y->next < x->end - x->next);
}

/* The largest first, each to the reader that has least to do. */
static void divide(struct reader *readers, size_t reader_count, struct stretch **stretches, size_t count)
{
	int64_t load[KAFKA_HANDLES_MAX] = { 0 };

	if (count > 0)
		qsort(stretches, count, sizeof(struct stretch *), by_size);
	for (size_t i = 0; i < count; i++) {
		size_t least = 0;

		for (size_t j = 1; j < reader_count; j++)
			if (load[j] < load[least])
				least = j;
		readers[least].stretches[readers[least].count++] = stretches[i];
		load[least] += stretches[i]->end - stretches[i]->next + 1;
	}
}

/* NULL where so little is read that no queue can fill. */
static struct kafka_nudge *nudge_readers(const struct reader *readers, size_t reader_count)
{
	struct kafka_nudge *nudge = kafka_nudge_new();
	int64_t records = 0;

	for (size_t i = 0; i < reader_count; i++)
		for (size_t j = 0; j < readers[i].count; j++) {
			const struct stretch *s = readers[i].stretches[j];

			records += s->end - s->next;
			kafka_nudge_add(nudge, i, readers[i].client->rk, readers[i].client->queue, s->topic,
					s->partition);
		}
	if (records >= NUDGE_RECORDS) {
		kafka_nudge_start(nudge);
		return nudge;
	}
	kafka_nudge_stop(nudge);
	return NULL;
}

void kafka_read(struct kafka_source *source, struct kafka_client *const *clients, size_t client_count,
		struct stretch **stretches, size_t count, const struct read_ops *ops, void *context)
{
	struct reader readers[KAFKA_HANDLES_MAX];
	pthread_t threads[KAFKA_HANDLES_MAX];
	bool running[KAFKA_HANDLES_MAX] = { false };
	struct kafka_nudge *nudge;

	for (size_t i = 0; i < client_count; i++)
		readers[i] = (struct reader){
			.client = clients[i],
			.run = source->run,
			.ops = ops,
			.context = context,
			.stretches = xarray(count + 1, sizeof(struct stretch *)),
		};
	divide(readers, client_count, stretches, count);
	nudge = nudge_readers(readers, client_count);
	/* The first one reads on this thread, and so does one whose thread cannot be had. */
	for (size_t i = 1; i < client_count; i++)
		running[i] = pthread_create(&threads[i], NULL, read_all, &readers[i]) == 0;
	for (size_t i = 0; i < client_count; i++)
		if (!running[i])
			read_all(&readers[i]);
	for (size_t i = 1; i < client_count; i++)
		if (running[i])
			pthread_join(threads[i], NULL);
	kafka_nudge_stop(nudge);
}

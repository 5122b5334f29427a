/* kafka_replay: what is read for the history: replays, second looks at holes, probes. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/history.h"
#include "ingest/kafka_reader.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"

/*
 * The record of a message. Its bytes belong to the message. Field by field: a struct that is built elsewhere and copied
 * stalls on its own stores, which is seen at millions of records a second.
 */
static inline void raw_fill(struct raw_record *raw, const rd_kafka_message_t *message, const char *header)
{
	rd_kafka_headers_t *headers;

	raw->offset = message->offset;
	raw->timestamp_ms = rd_kafka_message_timestamp(message, NULL);
	raw->key = message->key;
	raw->key_size = message->key ? (int32_t)message->key_len : -1;
	raw->value = message->payload;
	raw->value_size = message->payload ? (int64_t)message->len : -1;
	raw->header = NULL;
	raw->header_size = 0;
	if (header && rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_header_get_last(headers, header, &raw->header, &raw->header_size);
}

/*
 * While fetches of a megabyte come and go by the thousand, glibc would return each to the system and take it anew: its
 * pages cost a twentieth of the speed. Afterwards large blocks are the system's again as soon as they are free.
 */
static void keep_freed_memory(bool bulk)
{
	mallopt(M_TRIM_THRESHOLD, bulk ? 256 << 20 : 2 << 20);
	mallopt(M_MMAP_THRESHOLD, bulk ? 32 << 20 : 1 << 20);
}

/* The source's clients for bulk, at most one a stretch. 0 with t filled: none. */
static size_t read_clients(struct kafka_source *source, enum isolation isolation, size_t stretches,
			   struct kafka_client **clients, struct trouble *t)
{
	size_t count = 0;

	keep_freed_memory(true);
	while (count < (size_t)source->handles && count < stretches) {
		if (FAULT(KAFKA_CLIENT)) {
			trouble_set(t, "kafka: no handle");
			return 0;
		}
		clients[count] = kafka_read_client(source, isolation, (int)count, t);
		if (!clients[count])
			return 0;
		count++;
	}
	return count;
}

/* Queues and buffers of the bulk are large; nothing is read in bulk again for long. */
static void release_clients(struct kafka_source *source)
{
	for (int i = 0; i < KAFKA_ISOLATIONS; i++)
		for (int j = 0; j < KAFKA_HANDLES_MAX; j++) {
			kafka_client_free(source->readers[i][j]);
			source->readers[i][j] = NULL;
		}
	keep_freed_memory(false);
	malloc_trim(0);
}

/* --- replay ------------------------------------------------------------------------------------------------------ */

struct replay_context {
	struct replay_part *parts;
	struct history *sink;
};

struct replay_thread {
	const struct replay_context *context;
	struct history_thread *sink;
};

static void *replay_enter(void *context)
{
	struct replay_thread *thread = xalloc(sizeof(*thread));

	thread->context = context;
	thread->sink = history_enter(thread->context->sink);
	return thread;
}

static void replay_leave(void *context)
{
	struct replay_thread *thread = context;

	history_leave(thread->sink);
	free(thread);
}

static enum take writer_failed(struct stretch *stretch)
{
	if (!stretch->trouble.text[0])
		trouble_set(&stretch->trouble, "%s/%d: the index cannot be written", stretch->topic,
			    stretch->partition);
	return TAKE_FAILED;
}

static enum take replay_take(void *context, struct stretch *stretch, const rd_kafka_message_t *message)
{
	struct replay_thread *thread = context;
	struct raw_record raw;

	raw_fill(&raw, message, thread->context->parts[stretch->index].header);
	if (FAULT(REPLAY_STOP) || history_add(thread->sink, stretch->index, &raw, &stretch->trouble) < 0)
		return writer_failed(stretch);
	return TAKE_MORE;
}

static enum take replay_trimmed(void *context, struct stretch *stretch, int64_t log_start)
{
	struct replay_thread *thread = context;

	if (history_trimmed(thread->sink, stretch->index, stretch->next, log_start) < 0)
		return writer_failed(stretch);
	return TAKE_MORE;
}

static void replay_over(void *context, struct stretch *stretch)
{
	struct replay_thread *thread = context;
	struct replay_part *part = &thread->context->parts[stretch->index];

	if (history_end(thread->sink, stretch->index, stretch->next) < 0)
		writer_failed(stretch);
	part->next = stretch->next;
	part->covered = stretch->covered && !stretch->trouble.text[0];
	part->beyond = stretch->beyond;
	part->trouble = stretch->trouble;
}

static const struct read_ops replay_ops = {
	.enter = replay_enter,
	.leave = replay_leave,
	.take = replay_take,
	.trimmed = replay_trimmed,
	.over = replay_over,
};

static int replay_isolation(struct kafka_source *source, enum isolation isolation, struct replay_context *context,
			    size_t count, struct trouble *t)
{
	struct stretch *stretches = xarray(count, sizeof(*stretches));
	struct stretch **order = xarray(count, sizeof(struct stretch *));
	struct kafka_client *clients[KAFKA_HANDLES_MAX];
	size_t n = 0, client_count;
	int result = 0;

	for (size_t i = 0; i < count; i++) {
		const struct replay_part *part = &context->parts[i];

		if (part->isolation != isolation)
			continue;
		stretches[n] = (struct stretch){
			.topic = part->topic,
			.partition = part->partition,
			.next = part->next,
			.end = part->end,
			.index = i,
		};
		order[n] = &stretches[n];
		n++;
	}
	client_count = read_clients(source, isolation, n, clients, t);
	if (client_count > 0)
		kafka_read(source, clients, client_count, order, n, &replay_ops, context);
	else if (n > 0)
		result = -1;
	release_clients(source);
	free(order);
	free(stretches);
	return result;
}

int kafka_replay(struct source *base, struct replay_part *parts, size_t count, struct history *sink, struct trouble *t)
{
	struct replay_context context = { .parts = parts, .sink = sink };

	for (int isolation = 0; isolation < KAFKA_ISOLATIONS; isolation++)
		if (replay_isolation(kafka_source_of(base), (enum isolation)isolation, &context, count, t) < 0)
			return -1;
	return 0;
}

/* --- second looks ------------------------------------------------------------------------------------------------ */

struct reread_context {
	struct reread_window *windows;
	void (*take)(void *context, const struct reread_window *window, const struct record *record);
	void *context;
};

static enum take reread_take(void *opaque, struct stretch *stretch, const rd_kafka_message_t *message)
{
	struct reread_context *context = opaque;
	struct raw_record raw;
	struct record record;

	raw_fill(&raw, message, context->windows[stretch->index].header);
	history_record(&raw, context->windows[stretch->index].numbers, &record);
	context->take(context->context, &context->windows[stretch->index], &record);
	return TAKE_MORE;
}

static enum take reread_trimmed(void *opaque, struct stretch *stretch, int64_t log_start)
{
	struct reread_context *context = opaque;
	struct reread_window *window = &context->windows[stretch->index];

	if (window->gone_from == UNKNOWN)
		window->gone_from = stretch->next;
	window->gone_to = log_start < window->end ? log_start : window->end;
	return TAKE_MORE;
}

static void reread_over(void *opaque, struct stretch *stretch)
{
	struct reread_context *context = opaque;
	struct reread_window *window = &context->windows[stretch->index];

	if (FAULT(REREAD)) {
		stretch->covered = false;
		trouble_set(&stretch->trouble, "%s/%d: cannot be read again", stretch->topic, stretch->partition);
	}
	window->covered = stretch->covered;
	window->trouble = stretch->trouble;
	if (stretch->beyond)
		trouble_set(&window->trouble, "%s/%d: the end fell below %lld", stretch->topic, stretch->partition,
			    (long long)stretch->end);
}

static const struct read_ops reread_ops = { .take = reread_take, .trimmed = reread_trimmed, .over = reread_over };

/* Windows of one partition are read one after another: chains them, and gives the first of each chain. */
static size_t chain(struct reread_window *windows, size_t count, struct stretch *stretches, struct stretch **first)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		const struct reread_window *w = &windows[i];

		stretches[i] = (struct stretch){
			.topic = w->topic,
			.partition = w->partition,
			.next = w->start,
			.end = w->end,
			.index = i,
		};
		if (i > 0 && w->partition == windows[i - 1].partition && strcmp(w->topic, windows[i - 1].topic) == 0)
			stretches[i - 1].then = &stretches[i];
		else
			first[n++] = &stretches[i];
	}
	return n;
}

int kafka_reread(struct source *base, struct reread_window *windows, size_t count,
		 void (*take)(void *context, const struct reread_window *window, const struct record *record),
		 void *opaque, struct trouble *t)
{
	struct kafka_source *source = kafka_source_of(base);
	struct stretch *stretches = xarray(count, sizeof(*stretches));
	struct stretch **first = xarray(count, sizeof(struct stretch *));
	struct reread_context context = { .windows = windows, .take = take, .context = opaque };
	struct kafka_client *clients[KAFKA_HANDLES_MAX];
	size_t n = chain(windows, count, stretches, first);
	size_t client_count = read_clients(source, ISOLATION_READ_UNCOMMITTED, n, clients, t);

	if (client_count > 0)
		kafka_read(source, clients, client_count, first, n, &reread_ops, &context);
	release_clients(source);
	free(first);
	free(stretches);
	return client_count > 0 || n == 0 ? 0 : -1;
}

/* --- probes ------------------------------------------------------------------------------------------------------ */

static enum take probe_take(void *opaque, struct stretch *stretch, const rd_kafka_message_t *message)
{
	struct probe *probe = &((struct probe *)opaque)[stretch->index];
	struct raw_record raw;

	raw_fill(&raw, message, NULL);
	history_record(&raw, false, &probe->record);
	probe->found = true;
	if (raw.key_size >= 0) {
		probe->key_copy = xmemdup(raw.key, (size_t)raw.key_size);
		probe->record.key = probe->key_copy;
	}
	return TAKE_ENOUGH;
}

static void probe_over(void *opaque, struct stretch *stretch)
{
	struct probe *probe = &((struct probe *)opaque)[stretch->index];

	if (FAULT(PROBE)) {
		probe->found = false;
		trouble_set(&stretch->trouble, "%s/%d: no answer", stretch->topic, stretch->partition);
	}
	probe->trouble = stretch->trouble;
}

static const struct read_ops probe_ops = { .take = probe_take, .over = probe_over };

/* An end below the limit means that nothing is found: whether the end fell is for others to judge. */
int kafka_probe(struct source *base, enum isolation isolation, struct probe *probes, size_t count, struct trouble *t)
{
	struct kafka_source *source = kafka_source_of(base);
	struct kafka_client *client = kafka_look_client(source, isolation, t);
	struct stretch *stretches = xarray(count, sizeof(*stretches));
	struct stretch **order = xarray(count, sizeof(struct stretch *));

	for (size_t i = 0; i < count && client; i++) {
		probes[i].found = false;
		probes[i].key_copy = NULL;
		probes[i].trouble.text[0] = '\0';
		stretches[i] = (struct stretch){
			.topic = probes[i].topic,
			.partition = probes[i].partition,
			.next = probes[i].offset,
			.end = probes[i].limit,
			.index = i,
		};
		order[i] = &stretches[i];
	}
	if (client && count > 0)
		kafka_read(source, &client, 1, order, count, &probe_ops, probes);
	free(order);
	free(stretches);
	return client ? 0 : -1;
}

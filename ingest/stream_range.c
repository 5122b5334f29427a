/*
 * stream_range: whether pending entries still exist, and what they hold.
 *
 * XRANGE id id makes the server look for one entry at a time, which costs it ten times what the entry itself does.
 * Entries that are pending side by side in the stream are asked for together, from the first id to the last. Others may
 * lie between them: COUNT bounds what is sent in vain, a run that it cut short is asked for again from there, and
 * where pending entries are rare a run is one entry.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ingest/stream_pel.h"
#include "ingest/stream_scan.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"

enum {
	RUN_MOST = 100,
	RUN_SLACK = 2, /* COUNT: so many times the run */
	SPARSE_RUNS = 100,
	SEND_LEAST = 500, /* entries, where the window is larger */
	WINDOW_LEAST = 4,
	WINDOW_MOST = 2000,
	WINDOW_BYTES = 512 << 10,
};

/* --- queues ------------------------------------------------------------------------------------------------------- */

void pel_push(struct pel_queue *queue, struct pel_run run)
{
	if (queue->count == queue->room) {
		size_t room = queue->room ? queue->room * 2 : 64;
		struct pel_run *runs = xarray(room, sizeof(*runs));

		for (size_t i = 0; i < queue->count; i++)
			runs[i] = queue->runs[(queue->head + i) & (queue->room - 1)];
		free(queue->runs);
		*queue = (struct pel_queue){ .runs = runs, .count = queue->count, .room = room };
	}
	queue->runs[(queue->head + queue->count++) & (queue->room - 1)] = run;
}

struct pel_run *pel_first(const struct pel_queue *queue)
{
	return &queue->runs[queue->head];
}

struct pel_run pel_pop(struct pel_queue *queue)
{
	struct pel_run run = queue->runs[queue->head];

	queue->head = (queue->head + 1) & (queue->room - 1);
	queue->count--;
	return run;
}

/* --- commands ----------------------------------------------------------------------------------------------------- */

/* The oldest page that has entries to ask for, or NULL. */
static struct pel_page *page_to_send(struct pel *pel)
{
	for (; pel->sending <= pel->number; pel->sending++) {
		struct pel_page *page = &pel->pages[pel->sending % PEL_PAGES];

		if (page->sent < page->count)
			return page;
	}
	return NULL;
}

/* The next entries to ask for, of the oldest page first; false where there are none. */
static bool next_run(struct pel *pel, struct pel_run *run)
{
	struct pel_page *page;
	size_t most = pel->run < pel->window ? pel->run : pel->window;

	if (pel->again.count) {
		*run = pel_pop(&pel->again);
		if (run->end - run->first > most) {
			pel_push(&pel->again, (struct pel_run){ run->page, run->first + most, run->end });
			run->end = run->first + most;
		}
		return true;
	}
	page = page_to_send(pel);
	if (!page)
		return false;
	run->page = page;
	run->first = page->sent;
	run->end = page->count - page->sent < most ? page->count : page->sent + most;
	page->sent = run->end;
	return true;
}

static void add_command(struct pel *pel, struct buffer *out, struct pel_run run)
{
	const struct pel_entry *first = &run.page->entries[run.first], *last = &run.page->entries[run.end - 1];
	char count[24];
	int size = snprintf(count, sizeof(count), "%zu", (run.end - run.first) * RUN_SLACK);

	buffer_add(out, pel->range_head.data, pel->range_head.size);
	pel_text(out, first->text, first->text_size);
	pel_text(out, last->text, last->text_size);
	pel_text(out, "COUNT", 5);
	pel_text(out, count, (size_t)size);
}

bool pel_send_ranges(struct pel *pel)
{
	struct buffer *out = &pel->watch->out;
	struct pel_run run;

	out->size = 0;
	if (pel->flying_entries + SEND_LEAST > pel->window && pel->flying_entries > pel->window / 2)
		return false;
	while (pel->flying_entries < pel->window && next_run(pel, &run)) {
		add_command(pel, out, run);
		pel_push(&pel->flying, run);
		pel->flying_entries += run.end - run.first;
	}
	redis_conn_send(pel->watch->sampler->conn, out);
	return out->size > 0;
}

/* --- replies ------------------------------------------------------------------------------------------------------ */

static void suspect_add(struct group_look *look, const struct suspect *suspect)
{
	if (look->suspect_count == look->suspect_room) {
		look->suspect_room = look->suspect_room ? look->suspect_room * 2 : 64;
		look->suspects = xgrow(look->suspects, look->suspect_room, sizeof(*look->suspects));
	}
	look->suspects[look->suspect_count++] = *suspect;
}

int pending_keep(struct stream_watch *watch, struct group_look *look, const struct pending_entry *entry,
		 const struct suspect *about, struct trouble *t)
{
	int64_t consumer_id = name_index_find(look->consumers, entry->consumer);
	struct pending_row row = {
		.consumer_id = consumer_id,
		.consumer = { consumer_id == UNKNOWN && entry->consumer.size ? entry->consumer.at : NULL,
			      consumer_id == UNKNOWN ? entry->consumer.size : 0 },
		.idle_ms = entry->idle_ms < 0 ? UNKNOWN : entry->idle_ms,
		.deliveries = entry->deliveries,
		.present = about->present,
		.content = about->present ? about->content : UNKNOWN,
	};

	memcpy(row.id, entry->id, ENTRY_SIZE);
	look->kept++;
	return stream_rows_pending(&watch->rows, look->group_id, &row, t);
}

/* Whether the entry is as it must not stay. */
static bool is_suspect(const struct stream_config *config, const struct pel_entry *entry, bool present)
{
	return !present || entry->idle_ms >= config->idle_ms || entry->deliveries >= config->deliveries;
}

/* found NULL: the stream does not have the entry. 0 or -1. */
static int settle(struct pel *pel, struct pel_page *page, const struct pel_entry *entry,
		  const struct scanned_entry *found, struct trouble *t)
{
	struct suspect about = { .present = found != NULL, .content = UNKNOWN };
	struct pending_entry pending = {
		.consumer = { page->names.data + entry->consumer_at, entry->consumer_size },
		.idle_ms = entry->idle_ms,
		.deliveries = entry->deliveries,
	};

	if (found)
		about.content = found->content;
	page->answered++;
	memcpy(about.id, entry->id, ENTRY_SIZE);
	memcpy(pending.id, entry->id, ENTRY_SIZE);
	if (is_suspect(pel->watch->config, entry, about.present)) {
		suspect_add(pel->look, &about);
		return 0;
	}
	return pending_keep(pel->watch, pel->look, &pending, &about, t);
}

/* How long runs should be, and how many entries may be in flight, after a reply of so many entries and bytes. */
static void adapt(struct pel *pel, size_t wanted, size_t got, size_t settled, size_t bytes)
{
	size_t fit = got ? WINDOW_BYTES / (bytes / got + 1) : pel->window;

	pel->window = fit < WINDOW_LEAST ? WINDOW_LEAST : fit > WINDOW_MOST ? WINDOW_MOST : fit;
	if (settled < wanted || got > settled * RUN_SLACK) {
		pel->run = pel->run > 1 ? pel->run / 2 : 1;
		pel->sparse = SPARSE_RUNS;
	} else if (pel->sparse) {
		pel->sparse--;
	} else if (wanted >= pel->run && pel->run < RUN_MOST) {
		pel->run = pel->run * 2 < RUN_MOST ? pel->run * 2 : RUN_MOST;
	}
}

static size_t asked_at_most(const struct pel_reply *reply)
{
	return reply->wanted * RUN_SLACK;
}

/* Whether the entry may come next: ids rise within the run. */
static bool is_next(const struct pel_reply *reply, const struct pel_run *run, const uint8_t id[ENTRY_SIZE])
{
	const struct pel_entry *last = &run->page->entries[run->end - 1];

	return memcmp(id, last->id, ENTRY_SIZE) <= 0 && memcmp(id, reply->before, ENTRY_SIZE) >= (reply->got > 0);
}

/* Entries of the run before the one that was found do not exist, and the one that has its id does. 0 or -1. */
static int settle_up_to(struct pel *pel, struct pel_run *run, const struct scanned_entry *found, struct trouble *t)
{
	while (run->first < run->end) {
		const struct pel_entry *entry = &run->page->entries[run->first];
		int order = memcmp(entry->id, found->id, ENTRY_SIZE);

		if (order > 0)
			return 0;
		run->first++;
		if (settle(pel, run->page, entry, order < 0 ? NULL : found, t) < 0)
			return -1;
	}
	return 0;
}

/* 1; 0 more is to come; REDIS_SCAN_OTHER; -1. */
static int begin_reply(struct pel *pel, const struct pel_run *run, const char *at, const char *end, size_t *used,
		       struct trouble *t)
{
	struct pel_reply *reply = &pel->reply;
	ssize_t size = stream_scan_head(at, end, '*', &reply->elements);

	if (size == 0)
		return 0;
	if (FAULT(STREAM_RANGE))
		return trouble_set(t, "XRANGE: refused");
	if (size < 0)
		return REDIS_SCAN_OTHER;
	*used += (size_t)size;
	reply->begun = true;
	reply->wanted = run->end - run->first;
	memcpy(reply->before, run->page->entries[run->first].id, ENTRY_SIZE);
	return reply->elements > asked_at_most(reply) ? pel_odd("XRANGE", t) : 1;
}

/* An entry behind the reply's end does not exist unless COUNT cut it short. 1 or -1. */
static int end_reply(struct pel *pel, struct pel_run *run, struct trouble *t)
{
	struct pel_reply reply = pel->reply;
	bool cut = reply.elements == asked_at_most(&reply);
	size_t left = run->end - run->first;

	pel->reply = (struct pel_reply){ 0 };
	pel->flying_entries -= reply.wanted;
	adapt(pel, reply.wanted, reply.elements, cut ? reply.wanted - left : reply.wanted, reply.bytes);
	if (cut && left) {
		pel_push(&pel->again, *run);
		return 1;
	}
	for (; run->first < run->end; run->first++)
		if (settle(pel, run->page, &run->page->entries[run->first], NULL, t) < 0)
			return -1;
	return 1;
}

/* Both sides are in the order of ids. */
int pel_scan_range(void *context, struct bytes have, size_t *used, struct trouble *t)
{
	struct pel *pel = context;
	struct pel_reply *reply = &pel->reply;
	struct pel_run *run = pel_first(&pel->flying);
	const char *at = have.at, *end = at + have.size;
	int got = reply->begun ? 1 : begin_reply(pel, run, at, end, used, t);

	if (got != 1)
		return got;
	for (; reply->got < reply->elements; reply->got++) {
		struct scanned_entry found;
		ssize_t size = stream_scan_entry(at + *used, end, &pel->words, &found);

		if (size == 0)
			return 0;
		if (size < 0 || !is_next(reply, run, found.id))
			return pel_odd("XRANGE", t);
		if (settle_up_to(pel, run, &found, t) < 0)
			return -1;
		memcpy(reply->before, found.id, ENTRY_SIZE);
		reply->bytes += found.bytes;
		*used += (size_t)size;
	}
	return end_reply(pel, run, t);
}

int pel_refused_range(struct pel *pel, const redisReply *reply, struct trouble *t)
{
	struct reply_origin origin = redis_conn_origin(pel->watch->sampler->conn, "XRANGE");

	return reply->type == REDIS_REPLY_ERROR ? reply_trouble(reply, &origin, t) : pel_odd("XRANGE", t);
}

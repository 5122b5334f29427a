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
#include "sql/faultpoint.h"
#include "sql/mem.h"

enum {
	RUN_MOST = 100,
	RUN_SLACK = 2, /* COUNT: so many times the run */
	SPARSE_RUNS = 100,
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

struct pel_run pel_pop(struct pel_queue *queue)
{
	struct pel_run run = queue->runs[queue->head];

	queue->head = (queue->head + 1) & (queue->room - 1);
	queue->count--;
	return run;
}

/* --- commands ----------------------------------------------------------------------------------------------------- */

/* The next entries to ask for, of the older page first; false where there are none. */
static bool next_run(struct pel *pel, struct pel_run *run)
{
	struct pel_page *older = &pel->pages[pel->pages[1].number < pel->pages[0].number];
	struct pel_page *page = older->sent < older->count ? older : &pel->pages[older == pel->pages];
	size_t most = pel->run < pel->window ? pel->run : pel->window;

	if (pel->again.count) {
		*run = pel_pop(&pel->again);
		if (run->end - run->first > most) {
			pel_push(&pel->again, (struct pel_run){ run->page, run->first + most, run->end });
			run->end = run->first + most;
		}
		return true;
	}
	if (page->sent == page->count)
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
	if (pel->flying_entries > pel->window / 2)
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

int64_t stream_content(const redisReply *fields, struct buffer *words)
{
	words->size = 0;
	for (size_t i = 0; i < fields->elements; i++) {
		struct bytes text = reply_bytes(fields->element[i]);
		uint64_t size = text.size;

		buffer_add(words, &size, sizeof(size));
		buffer_add(words, text.at ? text.at : "", text.size);
	}
	return key_hash(words->data, words->size);
}

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

/* fields NULL: the stream does not have the entry. 0 or -1. */
static int settle(struct pel *pel, struct pel_page *page, const struct pel_entry *entry, const redisReply *fields,
		  struct trouble *t)
{
	struct suspect about = { .present = fields != NULL, .content = UNKNOWN };
	struct pending_entry pending = {
		.consumer = { page->names.data + entry->consumer_at, entry->consumer_size },
		.idle_ms = entry->idle_ms,
		.deliveries = entry->deliveries,
	};

	if (fields)
		about.content = stream_content(fields, &pel->words);
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

static size_t asked_at_most(struct pel_run run)
{
	return (run.end - run.first) * RUN_SLACK;
}

/* The next entry of a reply, whose ids rise within the run; before is the one before it, or NULL. */
static bool next_entry(const redisReply *reply, struct pel_run run, const uint8_t *before, uint8_t id[ENTRY_SIZE],
		       const redisReply **fields)
{
	const struct pel_entry *first = &run.page->entries[run.first], *last = &run.page->entries[run.end - 1];
	uint8_t next[ENTRY_SIZE];

	if (!stream_entry_read(reply, next, fields) || memcmp(next, first->id, ENTRY_SIZE) < 0 ||
	    memcmp(next, last->id, ENTRY_SIZE) > 0 || (before && memcmp(next, before, ENTRY_SIZE) <= 0))
		return false;
	memcpy(id, next, ENTRY_SIZE);
	return true;
}

/* Entries of the run before id do not exist, and the one that has it does. at moves behind them. 0 or -1. */
static int settle_up_to(struct pel *pel, struct pel_run run, size_t *at, const uint8_t *id, const redisReply *fields,
			struct trouble *t)
{
	while (*at < run.end) {
		int order = memcmp(run.page->entries[*at].id, id, ENTRY_SIZE);

		if (order > 0)
			return 0;
		if (settle(pel, run.page, &run.page->entries[(*at)++], order < 0 ? NULL : fields, t) < 0)
			return -1;
	}
	return 0;
}

/* Both sides are in the order of ids. An entry behind the reply's end does not exist unless COUNT cut it short. */
int pel_take_range(struct pel *pel, const redisReply *reply, struct pel_run run, struct trouble *t)
{
	struct reply_origin origin = redis_conn_origin(pel->watch->sampler->conn, "XRANGE");
	size_t wanted = run.end - run.first, at = run.first, bytes = 0;
	bool cut;
	uint8_t id[ENTRY_SIZE];

	if (FAULT(STREAM_RANGE))
		return trouble_set(t, "XRANGE: refused");
	if (reply->type == REDIS_REPLY_ERROR)
		return reply_trouble(reply, &origin, t);
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements > asked_at_most(run))
		return pel_odd("XRANGE", t);
	cut = reply->elements == asked_at_most(run);
	for (size_t i = 0; i < reply->elements; i++) {
		const redisReply *fields;

		if (!next_entry(reply->element[i], run, i ? id : NULL, id, &fields))
			return pel_odd("XRANGE", t);
		if (settle_up_to(pel, run, &at, id, fields, t) < 0)
			return -1;
		bytes += pel->words.size;
	}
	adapt(pel, wanted, reply->elements, cut ? at - run.first : wanted, bytes);
	if (cut && at < run.end) {
		pel_push(&pel->again, (struct pel_run){ run.page, at, run.end });
		return 1;
	}
	for (; at < run.end; at++)
		if (settle(pel, run.page, &run.page->entries[at], NULL, t) < 0)
			return -1;
	return 1;
}

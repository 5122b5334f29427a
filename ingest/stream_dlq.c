/*
 * stream_dlq: the dead letters of a watch, newest first, and what they tell of where they came from. Whoever moves an
 * entry there names its source in a field of its own choosing; so the first value that reads as an entry id is taken
 * for the source, rather one that can be a time than one that cannot, and the first that is the name of a group of the
 * watch's streams for the group.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ingest/stream_watch.h"
#include "sql/keytext.h"
#include "sql/mem.h"

enum { COUNT_FIRST = 50, COUNT_LEAST = 1, PAGE_BYTES = 4 << 20 };

struct dlq {
	struct stream_watch *watch;
	struct bytes key;
	int64_t stream_id, listed;
	char cursor[ENTRY_ROOM + 1];
	uint8_t last[ENTRY_SIZE]; /* the id in it */
	int64_t count;            /* entries to ask for at once: they may be large */
	bool done;
	struct buffer words;
	struct name_index *groups; /* of the watch, by name */
};

/* Not a month "2026-11" or a range "0-100". Ids below 2001 are no times. */
static bool is_time(const uint8_t id[ENTRY_SIZE])
{
	return entry_ms(id) >= INT64_C(1000000000000);
}

static int keep_entry(struct dlq *dlq, const redisReply *reply, struct trouble *t)
{
	const redisReply *fields;
	struct dlq_row row = { 0 };
	uint8_t source[ENTRY_SIZE], id[ENTRY_SIZE];

	if (!stream_entry_read(reply, row.id, &fields) || (dlq->listed && memcmp(row.id, dlq->last, ENTRY_SIZE) >= 0))
		return trouble_set(t, "XREVRANGE: a reply of another shape than Redis gives");
	for (size_t i = 1; i < fields->elements; i += 2) {
		struct bytes value = reply_bytes(fields->element[i]);

		if (!value.at)
			continue;
		if (entry_read(value.at, value.size, id) && (!row.source || (!is_time(source) && is_time(id))))
			row.source = memcpy(source, id, ENTRY_SIZE);
		if (!row.grp.at && name_index_find(dlq->groups, value) != UNKNOWN)
			row.grp = value;
	}
	row.content = stream_content(fields, &dlq->words);
	memcpy(dlq->last, row.id, ENTRY_SIZE);
	dlq->listed++;
	return stream_rows_dlq(&dlq->watch->rows, dlq->stream_id, &row, t);
}

static int take_page(struct dlq *dlq, const redisReply *reply, int64_t asked, struct trouble *t)
{
	size_t bytes = 0;

	if (reply->type != REDIS_REPLY_ARRAY || reply->elements > (size_t)asked)
		return trouble_set(t, "XREVRANGE: a reply of another shape than Redis gives");
	for (size_t i = 0; i < reply->elements; i++) {
		if (keep_entry(dlq, reply->element[i], t) < 0)
			return -1;
		bytes += dlq->words.size;
	}
	dlq->done = reply->elements < (size_t)asked || dlq->listed >= dlq->watch->pending_keys;
	if (reply->elements) {
		const redisReply *last = reply->element[reply->elements - 1]->element[0];
		int64_t most = redis_rate_page(&dlq->watch->sampler->rate);

		snprintf(dlq->cursor, sizeof(dlq->cursor), "(%.*s", (int)last->len, last->str);
		dlq->count = (int64_t)(PAGE_BYTES / (bytes / reply->elements + 1));
		dlq->count = dlq->count > most ? most : dlq->count < COUNT_LEAST ? COUNT_LEAST : dlq->count;
	}
	return 0;
}

static int read_pages(struct dlq *dlq, struct trouble *t)
{
	struct stream_watch *w = dlq->watch;

	while (!dlq->done) {
		int64_t left = w->pending_keys - dlq->listed, asked = dlq->count < left ? dlq->count : left;
		char count[24];
		int size = snprintf(count, sizeof(count), "%lld", (long long)asked);
		redisReply *reply;

		if (run_stopped(w->run))
			return trouble_set(t, "stopped");
		redis_rate_take(&w->sampler->rate, w->run, asked);
		if (watch_ask(w, 6,
			      (struct bytes[]){ BYTES("XREVRANGE"),
						dlq->key,
						{ dlq->cursor, strlen(dlq->cursor) },
						BYTES("-"),
						BYTES("COUNT"),
						{ count, (size_t)size } },
			      &reply, NULL, t) < 0 ||
		    take_page(dlq, reply, asked, t) < 0)
			return -1;
		run_progress(w->run, "streams", "dead letters", dlq->listed, UNKNOWN);
	}
	return stream_rows_flush(&w->rows, t);
}

static void note(struct dlq *dlq, struct trouble *what)
{
	trouble_wrap(what, "dlq %.100s", dlq->watch->config->dlq);
	if (!run_stopped(dlq->watch->run))
		watch_trouble(dlq->watch, what);
}

static void look(struct dlq *dlq)
{
	struct stream_watch *w = dlq->watch;
	struct trouble what = { 0 };
	bool told = w->lost;
	enum redis_fault fault = REDIS_FAULT_NONE;
	struct stream_state state = { .length = UNKNOWN, .entries_added = UNKNOWN, .groups = UNKNOWN };
	int64_t server_ms = w->lost ? UNKNOWN : stream_server_ms(w);
	/* 0: the first poison entry makes it */
	int found = w->lost ? trouble_set(&what, "the server does not answer")
			    : stream_ask_state(w, dlq->key, &state, &fault, &what);
	const struct fact_stream row = {
		.watch_id = w->watch_id,
		.redis_key = dlq->key,
		.role = "dlq",
		.present = found != 0,
		.trouble = found < 0 ? what.text : NULL,
		.read_us = run_now_us(w->run),
		.server_ms = server_ms,
		.length = state.length,
		.last_generated = stream_id_bytes(&state.last_generated),
		.first_entry = stream_id_bytes(&state.first_entry),
		.last_entry = stream_id_bytes(&state.last_entry),
		.max_deleted = stream_id_bytes(&state.max_deleted),
		.entries_added = state.entries_added,
		.groups = state.groups,
		.listed = found ? UNKNOWN : 0,
	};

	dlq->stream_id = stream_rows_stream(&w->rows, &row, NULL);
	if (found < 0 && !told)
		note(dlq, &what);
	if (found <= 0 || dlq->stream_id < 0)
		return;
	if (read_pages(dlq, &what) < 0) {
		stream_rows_flush(&w->rows, NULL);
		stream_rows_stream_end(&w->rows, dlq->stream_id, dlq->listed, what.text, NULL);
		note(dlq, &what);
		return;
	}
	stream_rows_stream_end(&w->rows, dlq->stream_id, dlq->listed, NULL, NULL);
}

void stream_dlq_look(struct stream_watch *watch)
{
	struct dlq dlq = { .watch = watch, .cursor = "+", .count = COUNT_FIRST };

	if (!watch->config->dlq)
		return;
	dlq.key = (struct bytes){ watch->config->dlq, strlen(watch->config->dlq) };
	dlq.groups = name_index_new(watch->groups.count);
	for (size_t i = 0; i < watch->groups.count; i++)
		name_index_add(dlq.groups, watch->groups.items[i].key, 0);
	look(&dlq);
	name_index_free(dlq.groups);
	buffer_release(&dlq.words);
}

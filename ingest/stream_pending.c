/*
 * stream_pending: the pending entries of a group, a page at a time.
 *
 * On the wire: page 1 | page 2, entries of page 1 | page 3, entries of page 2 | ... While the server works on one page,
 * the replies to the one before become rows. Two pages are in memory, however many entries are pending. A page is asked
 * for by the last id of the one before, which any server of the same data understands; where another process answers
 * after the link was lost, the group is given up all the same: its pending entries may be others.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ingest/stream_watch.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"

enum { PAGE_MOST = 10000, WINDOW_FIRST = 100, WINDOW_LEAST = 16, WINDOW_BYTES = 4 << 20 };

/* An entry of the sample, until its XRANGE is answered. */
struct pel_entry {
	uint8_t id[ENTRY_SIZE];
	char text[ENTRY_ROOM];
	uint8_t text_size;
	int64_t idle_ms, deliveries;
	size_t consumer_at, consumer_size;
};

struct pel_page {
	struct pel_entry *entries; /* PAGE_MOST */
	size_t count, sent, answered;
	struct buffer names; /* of consumers; the same one twice in a row is there once */
};

struct pel {
	struct stream_watch *watch;
	struct group_look *look;
	struct pel_page pages[2];
	char cursor[ENTRY_ROOM + 1];
	int64_t total; /* as the summary has it, for the progress */
	int64_t page;  /* entries to ask for at once */
	bool done;     /* the last page has come */
	int process;
	size_t window;  /* XRANGEs in flight at most: entries may be large */
	struct buffer range_head, words;
};

static bool page_open(const struct pel_page *page)
{
	return page->answered < page->count;
}

/* --- commands ----------------------------------------------------------------------------------------------------- */

static void add_text(struct buffer *out, const void *at, size_t size)
{
	char head[24];
	int length = snprintf(head, sizeof(head), "$%zu\r\n", size);

	buffer_add(out, head, (size_t)length);
	buffer_add(out, at, size);
	buffer_add(out, "\r\n", 2);
}

static void send_page(struct pel *pel)
{
	struct buffer *out = &pel->watch->out;
	char count[24];
	int size = snprintf(count, sizeof(count), "%lld", (long long)pel->page);

	out->size = 0;
	redis_format(out, 6,
		     (struct bytes[]){ BYTES("XPENDING"),
				       pel->look->key,
				       pel->look->name,
				       { pel->cursor, strlen(pel->cursor) },
				       BYTES("+"),
				       { count, (size_t)size } });
	redis_conn_send(pel->watch->sampler->conn, out);
}

/* The next window of a page. */
static void send_ranges(struct pel *pel, struct pel_page *page)
{
	struct buffer *out = &pel->watch->out;
	size_t end = page->sent + pel->window < page->count ? page->sent + pel->window : page->count;

	out->size = 0;
	for (; page->sent < end; page->sent++) {
		const struct pel_entry *entry = &page->entries[page->sent];

		buffer_add(out, pel->range_head.data, pel->range_head.size);
		add_text(out, entry->text, entry->text_size);
		add_text(out, entry->text, entry->text_size);
	}
	redis_conn_send(pel->watch->sampler->conn, out);
}

/* --- replies ------------------------------------------------------------------------------------------------------ */

bool pending_entry_read(const redisReply *reply, struct pending_entry *entry)
{
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 4 || !stream_reply_id(reply->element[0], entry->id) ||
	    !reply_is_text(reply->element[1]) || reply->element[2]->type != REDIS_REPLY_INTEGER ||
	    reply->element[3]->type != REDIS_REPLY_INTEGER)
		return false;
	entry->text = reply_bytes(reply->element[0]);
	entry->consumer = reply_bytes(reply->element[1]);
	entry->idle_ms = reply->element[2]->integer;
	entry->deliveries = reply->element[3]->integer;
	return entry->text.size < ENTRY_ROOM;
}

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

static void take_entry(struct pel *pel, struct pel_page *page, const struct pending_entry *entry)
{
	const struct pel_entry *last = page->count ? &page->entries[page->count - 1] : NULL;
	struct pel_entry *kept = &page->entries[page->count++];

	memcpy(kept->id, entry->id, ENTRY_SIZE);
	memcpy(kept->text, entry->text.at, entry->text.size);
	kept->text_size = (uint8_t)entry->text.size;
	kept->idle_ms = entry->idle_ms;
	kept->deliveries = entry->deliveries;
	kept->consumer_size = entry->consumer.size;
	if (last && last->consumer_size == entry->consumer.size &&
	    !memcmp(page->names.data + last->consumer_at, entry->consumer.at, entry->consumer.size)) {
		kept->consumer_at = last->consumer_at;
		return;
	}
	kept->consumer_at = page->names.size;
	buffer_add(&page->names, entry->consumer.at, entry->consumer.size + 1); /* with its NUL: never without memory */
	(void)pel;
}

static bool in_sample(const struct group_look *look, const uint8_t id[ENTRY_SIZE])
{
	return look->threshold == INT64_MAX || key_hash(id, ENTRY_SIZE) < look->threshold;
}

static int odd(const char *command, struct trouble *t)
{
	return trouble_set(t, "%s: a reply of another shape than Redis gives", command);
}

static int take_page(struct pel *pel, const redisReply *reply, struct pel_page *page, struct trouble *t)
{
	struct reply_origin origin = redis_conn_origin(pel->watch->sampler->conn, "XPENDING");
	struct pending_entry entry;

	page->count = page->sent = page->answered = page->names.size = 0;
	if (reply->type == REDIS_REPLY_ERROR)
		return reply_trouble(reply, &origin, t);
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements > (size_t)pel->page)
		return odd("XPENDING", t);
	for (size_t i = 0; i < reply->elements; i++) {
		if (!pending_entry_read(reply->element[i], &entry))
			return odd("XPENDING", t);
		stream_histogram_add(&pel->look->histogram, entry.idle_ms, entry.deliveries);
		if (in_sample(pel->look, entry.id))
			take_entry(pel, page, &entry);
	}
	pel->look->listed += (int64_t)reply->elements;
	pel->done = reply->elements < (size_t)pel->page;
	if (reply->elements)
		snprintf(pel->cursor, sizeof(pel->cursor), "(%.*s", (int)entry.text.size, (const char *)entry.text.at);
	redis_rate_take(&pel->watch->sampler->rate, pel->watch->run, (int64_t)(reply->elements + page->count));
	return 1;
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
	int64_t consumer_id = consumer_index_find(look->consumers, entry->consumer);
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

/* The reply to XRANGE id id, of one entry. 1 or -1. */
static int take_range(struct pel *pel, const redisReply *reply, struct pel_page *page, struct trouble *t)
{
	struct reply_origin origin = redis_conn_origin(pel->watch->sampler->conn, "XRANGE");
	const struct pel_entry *entry = &page->entries[page->answered];
	struct suspect about = { 0 };
	const redisReply *fields = NULL;
	struct pending_entry pending = {
		.consumer = { page->names.data + entry->consumer_at, entry->consumer_size },
		.idle_ms = entry->idle_ms,
		.deliveries = entry->deliveries,
	};

	if (reply->type == REDIS_REPLY_ERROR)
		return reply_trouble(reply, &origin, t);
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements > 1 ||
	    (reply->elements && !stream_entry_read(reply->element[0], about.id, &fields)))
		return odd("XRANGE", t);
	memcpy(about.id, entry->id, ENTRY_SIZE);
	memcpy(pending.id, entry->id, ENTRY_SIZE);
	about.present = fields != NULL;
	about.content = fields ? stream_content(fields, &pel->words) : UNKNOWN;
	page->answered++;
	if (is_suspect(pel->watch->config, entry, about.present)) {
		suspect_add(pel->look, &about);
		return 1;
	}
	return pending_keep(pel->watch, pel->look, &pending, &about, t) < 0 ? -1 : 1;
}

/* --- the wire ----------------------------------------------------------------------------------------------------- */

/* Replies to what is sent of a page. 1; 0 the link is lost; -1 trouble. */
static int receive_sent(struct pel *pel, struct pel_page *page, struct trouble *t)
{
	size_t first = page->answered, bytes = 0;
	int got = 1;

	while (got > 0 && page->answered < page->sent) {
		redisReply *reply;

		got = redis_conn_receive(pel->watch->sampler->conn, &reply, t);
		if (got > 0)
			got = take_range(pel, reply, page, t);
		bytes += pel->words.size;
		redis_conn_forget(pel->watch->sampler->conn);
	}
	if (got > 0 && page->answered > first) {
		size_t fit = WINDOW_BYTES / (bytes / (page->answered - first) + 1);

		pel->window = fit < WINDOW_LEAST ? WINDOW_LEAST : fit > PAGE_MOST ? PAGE_MOST : fit;
	}
	return got;
}

/* Until every entry of the page is answered; nothing else may be in flight behind its sent ones. */
static int drain(struct pel *pel, struct pel_page *page, struct trouble *t)
{
	int got = receive_sent(pel, page, t);

	while (got > 0 && page_open(page)) {
		if (run_stopped(pel->watch->run))
			return trouble_set(t, "stopped");
		send_ranges(pel, page);
		got = redis_conn_flush(pel->watch->sampler->conn, t);
		if (got > 0)
			got = receive_sent(pel, page, t);
	}
	return got;
}

/*
 * Receives the page in flight, sends for the next one and for this one's entries, and receives the entries of the page
 * before. 1; 0 the link is lost; -1 trouble.
 */
static int step(struct pel *pel, struct trouble *t)
{
	struct redis_conn *conn = pel->watch->sampler->conn;
	struct pel_page *before = page_open(&pel->pages[0]) ? &pel->pages[0] : &pel->pages[1];
	struct pel_page *page = before == &pel->pages[0] ? &pel->pages[1] : &pel->pages[0];
	redisReply *reply;
	int got = redis_conn_receive(conn, &reply, t);

	if (got > 0)
		got = take_page(pel, reply, page, t);
	if (got <= 0)
		return got;
	redis_conn_forget(conn);
	if (before->sent < before->count || page->count > pel->window) {
		got = drain(pel, before, t);
		if (got <= 0)
			return got;
	}
	if (!pel->done)
		send_page(pel);
	send_ranges(pel, page);
	got = redis_conn_flush(conn, t);
	return got > 0 ? receive_sent(pel, before, t) : got;
}

/* After a lost link: what was in flight is asked again. 0 or -1. */
static int recover(struct pel *pel, struct trouble *t)
{
	struct redis_conn *conn = pel->watch->sampler->conn;

	if (redis_conn_reopen(conn, t) < 0)
		return watch_lose(pel->watch);
	if (redis_conn_process(conn) != pel->process)
		return trouble_set(t, "the server was restarted or replaced while pending entries were read");
	for (size_t i = 0; i < 2; i++)
		pel->pages[i].sent = pel->pages[i].answered;
	return 0;
}

/* The pages that came are answered to their end, and the next one is on its way. 1, 0 or -1. */
static int catch_up(struct pel *pel, struct trouble *t)
{
	int got = 1;

	for (size_t i = 0; i < 2 && got > 0; i++)
		got = drain(pel, &pel->pages[i], t);
	if (got > 0 && !pel->done) {
		send_page(pel);
		got = redis_conn_flush(pel->watch->sampler->conn, t);
	}
	return got;
}

static int read_pages(struct pel *pel, struct trouble *t)
{
	int got;

	do {
		got = catch_up(pel, t);
		while (got > 0 && !pel->done) {
			got = run_stopped(pel->watch->run) ? trouble_set(t, "stopped") : step(pel, t);
			run_progress(pel->watch->run, "streams", "pending entries", pel->look->listed, pel->total);
		}
		if (got > 0)
			got = catch_up(pel, t);
		if (got < 0 || (got == 0 && recover(pel, t) < 0))
			return -1;
	} while (got == 0);
	return 0;
}

/* --- the sample --------------------------------------------------------------------------------------------------- */

/* XPENDING's summary: how many there are. */
static int ask_total(struct stream_watch *watch, struct group_look *look, int64_t *total, struct trouble *t)
{
	redisReply *reply;

	if (watch_ask(watch, 3, (struct bytes[]){ BYTES("XPENDING"), look->key, look->name }, &reply, NULL, t) < 0)
		return -1;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 4 ||
	    reply->element[0]->type != REDIS_REPLY_INTEGER)
		return odd("XPENDING", t);
	*total = reply->element[0]->integer;
	return 0;
}

static int64_t threshold_for(int64_t total, int64_t most)
{
	int64_t threshold = INT64_MAX;

	for (; total > most; total = total / 2 + total % 2)
		threshold = threshold == INT64_MAX ? INT64_C(1) << 62 : threshold / 2;
	return threshold;
}

static void pel_release(struct pel *pel)
{
	for (size_t i = 0; i < 2; i++) {
		free(pel->pages[i].entries);
		buffer_release(&pel->pages[i].names);
	}
	buffer_release(&pel->range_head);
	buffer_release(&pel->words);
}

int stream_pending_read(struct stream_watch *watch, struct group_look *look, struct trouble *t)
{
	struct pel pel = { .watch = watch, .look = look, .cursor = "-", .window = WINDOW_FIRST };
	int64_t rate = watch->sampler->rate.per_second;
	int result;

	if (ask_total(watch, look, &pel.total, t) < 0)
		return -1;
	look->threshold = threshold_for(pel.total, watch->pending_keys);
	if (!pel.total)
		return 0;
	pel.page = rate ? redis_rate_page(&watch->sampler->rate) : PAGE_MOST;
	pel.process = redis_conn_process(watch->sampler->conn);
	buffer_add(&pel.range_head, "*4\r\n$6\r\nXRANGE\r\n", 16);
	add_text(&pel.range_head, look->key.at, look->key.size);
	for (size_t i = 0; i < 2; i++)
		pel.pages[i].entries = xarray(PAGE_MOST, sizeof(*pel.pages[i].entries));
	redis_conn_forget(watch->sampler->conn);
	result = read_pages(&pel, t);
	if (result < 0)
		redis_conn_drop(watch->sampler->conn); /* what is in flight belongs to nobody */
	pel_release(&pel);
	return result;
}

/*
 * stream_pending: the pending entries of a group, a page at a time.
 *
 * While the entries of one page are asked for (stream_range.c), the next page is on its way, so that neither side waits
 * for the other. A few pages are in memory, however many entries are pending. A page is asked for by the last id of the
 * one before; where another process answers after the link was lost, the group is given up: its pending entries may be
 * others.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ingest/stream_pel.h"
#include "ingest/stream_scan.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"

enum { WINDOW_FIRST = 100 };

/* --- commands ----------------------------------------------------------------------------------------------------- */

void pel_text(struct buffer *out, const void *at, size_t size)
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
	int size = snprintf(count, sizeof(count), "%lld", (long long)pel->ask);

	out->size = 0;
	redis_format(out, 6,
		     (struct bytes[]){ BYTES("XPENDING"),
				       pel->look->key,
				       pel->look->name,
				       { pel->cursor, strlen(pel->cursor) },
				       BYTES("+"),
				       { count, (size_t)size } });
	redis_conn_send(pel->watch->sampler->conn, out);
	pel_push(&pel->flying, (struct pel_run){ 0 });
	pel->asked = true;
}

/* --- replies ------------------------------------------------------------------------------------------------------ */

bool pending_entry_read(const redisReply *reply, struct pending_entry *entry)
{
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 4 ||
	    !stream_reply_id(reply->element[0], entry->id) || !reply_is_text(reply->element[1]) ||
	    reply->element[2]->type != REDIS_REPLY_INTEGER || reply->element[3]->type != REDIS_REPLY_INTEGER)
		return false;
	entry->text = reply_bytes(reply->element[0]);
	entry->consumer = reply_bytes(reply->element[1]);
	entry->idle_ms = reply->element[2]->integer;
	entry->deliveries = reply->element[3]->integer;
	return entry->text.size < ENTRY_ROOM;
}

static void take_entry(struct pel_page *page, const struct pending_entry *entry)
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
}

static bool in_sample(const struct group_look *look, const uint8_t id[ENTRY_SIZE])
{
	return look->threshold == INT64_MAX || key_hash(id, ENTRY_SIZE) < look->threshold;
}

int pel_odd(const char *command, struct trouble *t)
{
	return trouble_set(t, "%s: a reply of another shape than Redis gives", command);
}

/* Where the next page goes. It is not asked for while entries of the one that is there are still to be answered. */
static struct pel_page *next_page(struct pel *pel)
{
	return &pel->pages[(pel->number + 1) % PEL_PAGES];
}

/* The id that none can lie behind: Redis refuses to be asked for one. */
static bool is_largest(const uint8_t id[ENTRY_SIZE])
{
	uint8_t largest[ENTRY_SIZE];

	memset(largest, 0xff, ENTRY_SIZE);
	return !memcmp(id, largest, ENTRY_SIZE);
}

/* The reply to an XPENDING begins. 1; 0 more is to come; REDIS_SCAN_OTHER; -1. */
static int begin_page(struct pel *pel, const char *at, const char *end, size_t *used, struct trouble *t)
{
	struct pel_reply *reply = &pel->reply;
	struct pel_page *page = next_page(pel);
	ssize_t size = stream_scan_head(at, end, '*', &reply->elements);

	if (size == 0)
		return 0;
	if (FAULT(STREAM_PENDING))
		return trouble_set(t, "XPENDING: refused");
	if (size < 0)
		return REDIS_SCAN_OTHER;
	if (reply->elements > (size_t)pel->ask)
		return pel_odd("XPENDING", t);
	*used += (size_t)size;
	reply->begun = true;
	page->count = page->sent = page->answered = page->names.size = 0;
	return 1;
}

/*
 * The page is here, or as much of it as came before the link was lost: the next one begins behind its last entry. Until
 * now nobody asked for its entries.
 */
static void end_page(struct pel *pel)
{
	struct pel_page *page = next_page(pel);
	size_t got = pel->reply.got;

	if (got) {
		pel->cursor[0] = '(';
		entry_write(pel->last, pel->cursor + 1);
	}
	pel->look->listed += (int64_t)got;
	pel->done = pel->reply.got == pel->reply.elements && (got < (size_t)pel->ask || is_largest(pel->last));
	pel->number++;
	pel->asked = false;
	pel->reply = (struct pel_reply){ 0 };
	redis_rate_take(&pel->watch->sampler->rate, pel->watch->run, (int64_t)(got + page->count));
}

/* A redis_scan of the reply to XPENDING; context: the pel. */
static int scan_page(void *context, struct bytes have, size_t *used, struct trouble *t)
{
	struct pel *pel = context;
	struct pel_reply *reply = &pel->reply;
	struct pel_page *page = next_page(pel);
	const char *at = have.at, *end = at + have.size;
	int got = reply->begun ? 1 : begin_page(pel, at, end, used, t);

	if (got != 1)
		return got;
	for (; reply->got < reply->elements; reply->got++) {
		struct pending_entry entry;
		ssize_t size = stream_scan_pending(at + *used, end, &entry);

		if (size == 0)
			return 0;
		if (size < 0 || entry.text.size >= ENTRY_ROOM || memcmp(entry.id, pel->last, ENTRY_SIZE) <= 0)
			return pel_odd("XPENDING", t);
		memcpy(pel->last, entry.id, ENTRY_SIZE);
		stream_histogram_add(&pel->look->histogram, entry.idle_ms, entry.deliveries);
		if (in_sample(pel->look, entry.id))
			take_entry(page, &entry);
		*used += (size_t)size;
	}
	end_page(pel);
	return 1;
}

/* The reply, where it is no page. Always -1. */
static int refused_page(const struct pel *pel, const redisReply *reply, struct trouble *t)
{
	struct reply_origin origin = redis_conn_origin(pel->watch->sampler->conn, "XPENDING");

	return reply->type == REDIS_REPLY_ERROR ? reply_trouble(reply, &origin, t) : pel_odd("XPENDING", t);
}

/* --- the wire ----------------------------------------------------------------------------------------------------- */

/* The next page, where there is room for it, and the entries of those that are here. 1, 0 or -1 as redis_conn_flush. */
static int send_more(struct pel *pel, struct trouble *t)
{
	bool page = !pel->done && !pel->asked && !page_open(next_page(pel));

	if (page)
		send_page(pel);
	return pel_send_ranges(pel) || page ? redis_conn_flush(pel->watch->sampler->conn, t) : 1;
}

/* Sends what there is room for, and receives one reply. 1; 0 the link is lost; -1 trouble. */
static int step(struct pel *pel, struct trouble *t)
{
	struct redis_conn *conn = pel->watch->sampler->conn;
	redisReply *reply = NULL;
	int got = send_more(pel, t);
	bool page = got > 0 && !pel_first(&pel->flying)->page;

	if (got > 0)
		got = redis_conn_scan(conn, page ? scan_page : pel_scan_range, pel, &reply, t);
	if (got <= 0)
		return got;
	pel_pop(&pel->flying);
	if (reply)
		got = page ? refused_page(pel, reply, t) : pel_refused_range(pel, reply, t);
	redis_conn_forget(conn);
	return got;
}

/* After a lost link: what was in flight is asked again. 0 or -1. */
static int recover(struct pel *pel, struct trouble *t)
{
	struct redis_conn *conn = pel->watch->sampler->conn;

	if (redis_conn_reopen(conn, t) < 0)
		return watch_lose(pel->watch);
	if (redis_conn_process(conn) != pel->process)
		return trouble_set(t, "the server was restarted or replaced while pending entries were read");
	if (pel->reply.begun && !pel_first(&pel->flying)->page)
		end_page(pel);
	while (pel->flying.count) {
		struct pel_run run = pel_pop(&pel->flying);

		if (run.page && run.first < run.end)
			pel_push(&pel->again, run);
	}
	pel->asked = false;
	pel->flying_entries = 0;
	pel->reply = (struct pel_reply){ 0 };
	return 0;
}

static bool is_over(const struct pel *pel)
{
	for (size_t i = 0; i < PEL_PAGES; i++)
		if (page_open(&pel->pages[i]))
			return false;
	return pel->done;
}

static int read_pages(struct pel *pel, struct trouble *t)
{
	while (!is_over(pel)) {
		int got = run_stopped(pel->watch->run) ? trouble_set(t, "stopped") : step(pel, t);

		if (got < 0 || (got == 0 && recover(pel, t) < 0))
			return -1;
		run_progress(pel->watch->run, "streams", "pending entries", pel->look->listed, pel->total);
	}
	return 0;
}

/* --- the sample --------------------------------------------------------------------------------------------------- */

/* XPENDING's summary: how many there are. */
static int ask_total(struct stream_watch *watch, struct group_look *look, int64_t *total, struct trouble *t)
{
	redisReply *reply;

	if (watch_ask(watch, 3, (struct bytes[]){ BYTES("XPENDING"), look->key, look->name }, &reply, NULL, t) < 0)
		return -1;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 4 || reply->element[0]->type != REDIS_REPLY_INTEGER)
		return pel_odd("XPENDING", t);
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
	for (size_t i = 0; i < PEL_PAGES; i++) {
		free(pel->pages[i].entries);
		buffer_release(&pel->pages[i].names);
	}
	free(pel->flying.runs);
	free(pel->again.runs);
	buffer_release(&pel->range_head);
	buffer_release(&pel->words);
}

int stream_pending_read(struct stream_watch *watch, struct group_look *look, struct trouble *t)
{
	struct pel pel = {
		.watch = watch, .look = look, .cursor = "-", .window = WINDOW_FIRST, .run = 1, .sending = 1
	};
	int64_t rate = watch->sampler->rate.per_second;
	int result;

	if (ask_total(watch, look, &pel.total, t) < 0)
		return -1;
	look->threshold = threshold_for(pel.total, watch->pending_keys);
	if (!pel.total)
		return 0;
	pel.ask = rate ? redis_rate_page(&watch->sampler->rate) : PEL_PAGE;
	pel.process = redis_conn_process(watch->sampler->conn);
	buffer_add(&pel.range_head, "*6\r\n$6\r\nXRANGE\r\n", 16);
	pel_text(&pel.range_head, look->key.at, look->key.size);
	for (size_t i = 0; i < PEL_PAGES; i++)
		pel.pages[i].entries = xarray(PEL_PAGE, sizeof(*pel.pages[i].entries));
	redis_conn_forget(watch->sampler->conn);
	result = read_pages(&pel, t);
	if (result < 0)
		redis_conn_drop(watch->sampler->conn); /* what is in flight belongs to nobody */
	pel_release(&pel);
	return result;
}

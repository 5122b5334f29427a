/*
 * stream_confirm: the second look. An entry that was late, poison or gone from the stream is asked for again, by its
 * id: acknowledged meanwhile, it is no row; claimed or delivered again, the row says what holds now.
 */
#include <stdlib.h>

#include "ingest/stream_watch.h"
#include "sql/faultpoint.h"

enum { WINDOW = 1000 };

struct confirm {
	struct stream_watch *watch;
	struct group_look *look;
	size_t sent, answered;
	int process;
};

static void send_window(struct confirm *c)
{
	struct buffer *out = &c->watch->out;
	size_t end = c->look->suspect_count - c->sent < WINDOW ? c->look->suspect_count : c->sent + WINDOW;

	redis_rate_take(&c->watch->sampler->rate, c->watch->run, (int64_t)(end - c->sent));
	out->size = 0;
	for (; c->sent < end; c->sent++) {
		char id[ENTRY_ROOM];
		size_t size = entry_write(c->look->suspects[c->sent].id, id);

		redis_format(out, 6,
			     (struct bytes[]){ BYTES("XPENDING"),
					       c->look->key,
					       c->look->name,
					       { id, size },
					       { id, size },
					       BYTES("1") });
	}
	redis_conn_send(c->watch->sampler->conn, out);
}

/* 1 or -1. */
static int take(struct confirm *c, const redisReply *reply, struct trouble *t)
{
	struct reply_origin origin = redis_conn_origin(c->watch->sampler->conn, "XPENDING");
	const struct suspect *suspect = &c->look->suspects[c->answered];
	struct pending_entry entry;

	if (FAULT(STREAM_CONFIRM))
		return trouble_set(t, "XPENDING: refused");
	if (reply->type == REDIS_REPLY_ERROR)
		return reply_trouble(reply, &origin, t);
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements > 1 ||
	    (reply->elements &&
	     (!pending_entry_read(reply->element[0], &entry) || memcmp(entry.id, suspect->id, ENTRY_SIZE) != 0)))
		return trouble_set(t, "XPENDING: a reply of another shape than Redis gives");
	c->answered++;
	if (!reply->elements) {
		c->look->acknowledged++;
		return 1;
	}
	return pending_keep(c->watch, c->look, &entry, suspect, t) < 0 ? -1 : 1;
}

/* One window is on its way while the replies to another are read. 1; 0 the link is lost; -1 trouble. */
static int step(struct confirm *c, struct trouble *t)
{
	struct redis_conn *conn = c->watch->sampler->conn;
	redisReply *reply;
	int got = 1;

	if (c->sent < c->look->suspect_count && c->sent - c->answered <= WINDOW) {
		send_window(c);
		got = redis_conn_flush(conn, t);
	}
	if (got > 0)
		got = redis_conn_receive(conn, &reply, t);
	if (got > 0)
		got = take(c, reply, t);
	redis_conn_forget(conn);
	return got;
}

/* 0 or -1. */
static int recover(struct confirm *c, struct trouble *t)
{
	if (redis_conn_reopen(c->watch->sampler->conn, t) < 0)
		return watch_lose(c->watch);
	if (redis_conn_process(c->watch->sampler->conn) != c->process)
		return trouble_set(t, "the server was restarted or replaced while pending entries were read");
	c->sent = c->answered;
	return 0;
}

int stream_confirm(struct stream_watch *watch, struct group_look *look, struct trouble *t)
{
	struct confirm c = { .watch = watch, .look = look, .process = redis_conn_process(watch->sampler->conn) };

	while (c.answered < look->suspect_count) {
		int got = run_stopped(watch->run) ? trouble_set(t, "stopped") : step(&c, t);

		if (got < 0 || (got == 0 && recover(&c, t) < 0)) {
			redis_conn_drop(watch->sampler->conn);
			return -1;
		}
		run_progress(watch->run, "streams", "second looks", (int64_t)c.answered, (int64_t)look->suspect_count);
	}
	return 0;
}

/*
 * redis_conn: hiredis over a socket that never blocks, so that time-outs and a stop are ours. See redis_link.c for how
 * a link is made.
 */
#include "ingest/redis_conn.h"

#include <hiredis/sds.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ingest/redis_link.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"

enum { POLL_MS = 100, RETRY_FIRST_US = 50000, RETRY_MOST_US = 1000000 };

struct redis_conn {
	const struct run *run;
	const struct redis_config *redis;
	int64_t timeout_us;
	struct redis_link *link; /* NULL: lost */
	enum link_result loss;   /* how it was lost */
	struct reply_arena *arena;
	struct buffer commands; /* for redis_conn_ask */
	char process_id[64];    /* INFO's run_id; empty: not known */
	int process;
	int64_t lost_us; /* when the link was lost and no reply came since; UNKNOWN: it was not */
	bool gave_up;    /* and no reply came since: what comes next has one attempt, not a whole time-out again */
};

/* How the next reply is taken; scan NULL: as objects. */
struct scanning {
	redis_scan *scan;
	void *context;
};

/* --- commands ----------------------------------------------------------------------------------------------------- */

static void add_number(struct buffer *out, char mark, size_t number)
{
	char text[32];
	int size = snprintf(text, sizeof(text), "%c%zu\r\n", mark, number);

	buffer_add(out, text, (size_t)size);
}

void redis_format(struct buffer *out, size_t count, const struct bytes *arguments)
{
	add_number(out, '*', count);
	for (size_t i = 0; i < count; i++) {
		add_number(out, '$', arguments[i].size);
		buffer_add(out, arguments[i].at, arguments[i].size);
		buffer_add(out, "\r\n", 2);
	}
}

/* --- the link ----------------------------------------------------------------------------------------------------- */

struct reply_origin redis_conn_origin(const struct redis_conn *conn, const char *command)
{
	return (struct reply_origin){ .command = command, .user = conn->redis->user };
}

void redis_conn_drop(struct redis_conn *conn)
{
	redis_link_close(conn->link);
	conn->link = NULL;
}

/* result: of redis_link.h. 1 the link is up; 0 it is lost, and goes. */
static int keep(struct redis_conn *conn, enum link_result result)
{
	if (result == LINK_UP)
		return 1;
	conn->loss = result;
	redis_conn_drop(conn);
	return 0;
}

/* For what came is no protocol of Redis. Always 0. */
static int lose(struct redis_conn *conn, struct trouble *t, const char *why)
{
	trouble_set(t, "the connection broke: %s", why);
	return keep(conn, LINK_UNREACHABLE);
}

static int no_reply(struct redis_conn *conn, struct trouble *t)
{
	redis_conn_drop(conn);
	return trouble_set(t,
			   "no reply within %lld s: the server hangs, or runs a slow command; see its SLOWLOG, or "
			   "allow more time with --timeout",
			   (long long)(conn->timeout_us / 1000000));
}

/*
 * Until the socket can do one of events. 1 it can (or may); 0 not within POLL_MS; -1 the time is up or the run is to
 * stop.
 */
static int wait_for(struct redis_conn *conn, short events, int64_t since_us, struct trouble *t)
{
	struct pollfd fd = { .fd = conn->link->fd, .events = events };

	if (run_stopped(conn->run)) {
		redis_conn_drop(conn);
		return trouble_set(t, "stopped");
	}
	if (poll(&fd, 1, POLL_MS) > 0)
		return 1;
	return run_tick_us(conn->run) - since_us < conn->timeout_us ? 0 : no_reply(conn, t);
}

void redis_conn_send(struct redis_conn *conn, const struct buffer *commands)
{
	if (conn->link && commands->size &&
	    redisAppendFormattedCommand(conn->link->context, (const char *)commands->data, commands->size) != REDIS_OK)
		xarray(SIZE_MAX, SIZE_MAX); /* its only failure is memory */
}

/* A server whose replies nobody reads may stop reading commands: while it does not take them, replies are read. */
int redis_conn_flush(struct redis_conn *conn, struct trouble *t)
{
	int64_t since = run_tick_us(conn->run);
	bool done = false;
	int ready;

	if (!conn->link)
		return 0;
	for (;;) {
		size_t before = conn->link->reader->len;

		if (!keep(conn, redis_link_write(conn->link, &done, t)))
			return 0;
		if (done)
			return 1;
		ready = wait_for(conn, POLLIN | POLLOUT, since, t);
		if (ready < 0)
			return -1;
		if (ready && !keep(conn, redis_link_read(conn->link, t)))
			return 0;
		if (conn->link->reader->len != before)
			since = run_tick_us(conn->run);
	}
}

/* What was received and is not parsed; what was goes, so that the buffer does not grow. Not amid a reply of objects. */
static struct bytes unparsed(redisReader *reader)
{
	size_t left = reader->len - reader->pos;

	if (reader->pos) {
		memmove(reader->buf, reader->buf + reader->pos, left);
		sdssetlen(reader->buf, left);
		reader->buf[left] = '\0';
		reader->len = left;
		reader->pos = 0;
	}
	return (struct bytes){ reader->buf, left };
}

/* As redis_scan. */
static int scan_some(struct redis_conn *conn, redis_scan *scan, void *context, struct trouble *t)
{
	struct bytes have = unparsed(conn->link->reader);
	size_t used = 0;
	int got = scan(context, have, &used, t);

	conn->link->reader->pos += used;
	return got;
}

/* A whole reply of those received: 1, 0 or -1; -2 what came is no reply. */
static int parse_some(struct redis_conn *conn, struct scanning *scanning, redisReply **reply, struct trouble *t)
{
	void *whole = NULL;

	if (scanning->scan) {
		int got = scan_some(conn, scanning->scan, scanning->context, t);

		if (got != REDIS_SCAN_OTHER)
			return got;
		scanning->scan = NULL;
	}
	if (redisReaderGetReply(conn->link->reader, &whole) != REDIS_OK)
		return -2;
	*reply = whole;
	return whole != NULL;
}

/* The next whole reply, as it is. */
static int scan_reply(struct redis_conn *conn, struct scanning scanning, redisReply **reply, struct trouble *t)
{
	int64_t since = UNKNOWN; /* when waiting for more began: the clock is not asked for what is there already */

	*reply = NULL;
	if (!conn->link)
		return 0;
	for (;;) {
		int got = parse_some(conn, &scanning, reply, t), ready;
		size_t before;

		if (got == -2)
			return lose(conn, t, conn->link->reader->errstr);
		if (got)
			return got;
		before = conn->link->reader->len;
		if (!keep(conn, redis_link_read(conn->link, t)))
			return 0;
		if (conn->link->reader->len != before) {
			since = UNKNOWN;
			continue;
		}
		if (since == UNKNOWN)
			since = run_tick_us(conn->run);
		ready = wait_for(conn, POLLIN, since, t);
		if (ready < 0)
			return -1;
	}
}

static int next_reply(struct redis_conn *conn, redisReply **reply, struct trouble *t)
{
	return scan_reply(conn, (struct scanning){ 0 }, reply, t);
}

int redis_conn_receive(struct redis_conn *conn, redisReply **reply, struct trouble *t)
{
	return redis_conn_scan(conn, NULL, NULL, reply, t);
}

int redis_conn_scan(struct redis_conn *conn, redis_scan *scan, void *context, redisReply **reply, struct trouble *t)
{
	int got = FAULT(REDIS_DROP) && conn->link ? lose(conn, t, "reset by peer")
						  : scan_reply(conn, (struct scanning){ scan, context }, reply, t);
	struct reply_origin origin = redis_conn_origin(conn, "server");

	if (got <= 0)
		return got;
	if (*reply && (*reply)->type == REDIS_REPLY_ERROR && reply_fault(*reply) == REDIS_FAULT_AGAIN) {
		reply_trouble(*reply, &origin, t);
		redis_conn_drop(conn);
		return 0;
	}
	conn->lost_us = UNKNOWN;
	conn->gave_up = false;
	return 1;
}

void redis_conn_forget(struct redis_conn *conn)
{
	reply_arena_reset(conn->arena);
}

/* --- opening and reopening ---------------------------------------------------------------------------------------- */

/* One command of the handshake. */
static enum link_result shake(struct redis_conn *conn, size_t count, const struct bytes *arguments, redisReply **reply,
			      struct trouble *t)
{
	int got;

	conn->commands.size = 0;
	redis_format(&conn->commands, count, arguments);
	redis_conn_send(conn, &conn->commands);
	got = redis_conn_flush(conn, t);
	if (got > 0)
		got = next_reply(conn, reply, t);
	return got > 0 ? LINK_UP : got == 0 ? conn->loss : LINK_REFUSED;
}

/* A command that must succeed. */
static enum link_result must(struct redis_conn *conn, size_t count, const struct bytes *arguments, struct trouble *t)
{
	struct reply_origin origin = redis_conn_origin(conn, arguments[0].at);
	redisReply *reply = NULL;
	enum link_result result = shake(conn, count, arguments, &reply, t);
	enum redis_fault fault = result == LINK_UP ? reply_fault(reply) : REDIS_FAULT_NONE;

	if (fault == REDIS_FAULT_NONE)
		return result;
	reply_trouble(reply, &origin, t);
	return fault == REDIS_FAULT_AGAIN ? LINK_AGAIN : LINK_REFUSED;
}

/* A command whose refusal does no harm. */
static enum link_result may(struct redis_conn *conn, size_t count, const struct bytes *arguments, struct trouble *t)
{
	redisReply *reply = NULL;

	return shake(conn, count, arguments, &reply, t);
}

static enum link_result authenticate(struct redis_conn *conn, struct trouble *t)
{
	const struct redis_config *redis = conn->redis;
	struct bytes password = { redis->password, redis->password ? strlen(redis->password) : 0 };

	if (!redis->password)
		return LINK_UP;
	if (redis->user)
		return must(conn, 3, (struct bytes[]){ BYTES("AUTH"), { redis->user, strlen(redis->user) }, password },
			    t);
	return must(conn, 2, (struct bytes[]){ BYTES("AUTH"), password }, t);
}

static enum link_result select_database(struct redis_conn *conn, struct trouble *t)
{
	char number[16];
	int size = snprintf(number, sizeof(number), "%d", conn->redis->db);
	enum link_result result;

	if (!conn->redis->db)
		return LINK_UP;
	result = must(conn, 2, (struct bytes[]){ BYTES("SELECT"), { number, (size_t)size } }, t);
	if (result == LINK_REFUSED)
		trouble_wrap(t, "database %d", conn->redis->db);
	return result;
}

/*
 * PING tells whether the server is ready: unlike the commands before, a server that loads refuses it. Who may not PING
 * finds out later.
 */
static enum link_result ping(struct redis_conn *conn, struct trouble *t)
{
	struct reply_origin origin = redis_conn_origin(conn, "PING");
	redisReply *reply = NULL;
	enum link_result result = shake(conn, 1, (struct bytes[]){ BYTES("PING") }, &reply, t);
	enum redis_fault fault = result == LINK_UP ? reply_fault(reply) : REDIS_FAULT_NONE;

	if (fault == REDIS_FAULT_NONE || fault == REDIS_FAULT_NO_PERMISSION)
		return result;
	reply_trouble(reply, &origin, t);
	return fault == REDIS_FAULT_AGAIN ? LINK_AGAIN : LINK_REFUSED;
}

/* Counts processes: another number for each that is not provably the last one. */
static enum link_result identify(struct redis_conn *conn, struct trouble *t)
{
	redisReply *reply = NULL;
	enum link_result result = shake(conn, 2, (struct bytes[]){ BYTES("INFO"), BYTES("server") }, &reply, t);
	struct bytes id;

	if (result != LINK_UP)
		return result;
	id = redis_info_value(reply_bytes(reply), "run_id");
	if (!id.size || id.size >= sizeof(conn->process_id) || strlen(conn->process_id) != id.size ||
	    memcmp(conn->process_id, id.at, id.size))
		conn->process++;
	memset(conn->process_id, 0, sizeof(conn->process_id));
	if (id.size && id.size < sizeof(conn->process_id))
		memcpy(conn->process_id, id.at, id.size);
	return LINK_UP;
}

static enum link_result handshake(struct redis_conn *conn, struct trouble *t)
{
	static const struct bytes name[] = { BYTES("CLIENT"), BYTES("SETNAME"), BYTES("fencepost") };
	static const struct bytes touch[] = { BYTES("CLIENT"), BYTES("NO-TOUCH"), BYTES("ON") };
	enum link_result result = authenticate(conn, t);

	if (result == LINK_UP)
		result = select_database(conn, t);
	if (result == LINK_UP)
		result = may(conn, 3, name, t);
	if (result == LINK_UP)
		result = may(conn, 3, touch, t);
	if (result == LINK_UP)
		result = ping(conn, t);
	if (result == LINK_UP)
		result = identify(conn, t);
	return result;
}

static enum link_result connect_once(struct redis_conn *conn, struct trouble *t)
{
	enum link_result result = redis_link_open(conn->redis, conn->timeout_us, &conn->link, t);

	if (FAULT(REDIS_CONNECT) && result == LINK_UP) {
		redis_conn_drop(conn);
		trouble_set(t, "cannot connect");
		return LINK_UNREACHABLE;
	}
	if (result != LINK_UP)
		return result;
	reply_arena_attach(conn->arena, conn->link->reader);
	result = handshake(conn, t);
	redis_conn_forget(conn);
	if (result != LINK_UP)
		redis_conn_drop(conn);
	return result;
}

/* 0; -1 when the run is to stop. */
static int pause_us(const struct run *run, int64_t us, struct trouble *t)
{
	for (int64_t until = run_tick_us(run) + us, now; (now = run_tick_us(run)) < until;) {
		int64_t nap = until - now < POLL_MS * 1000 ? until - now : POLL_MS * 1000;

		if (run_stopped(run))
			return trouble_set(t, "stopped");
		nanosleep(&(struct timespec){ .tv_nsec = nap * 1000 }, NULL);
	}
	return 0;
}

/* Tries until the time is up. patient: also while nobody answers at the address. */
static int connect_within(struct redis_conn *conn, int64_t since_us, bool patient, struct trouble *t)
{
	for (int64_t wait = RETRY_FIRST_US;; wait = wait * 2 < RETRY_MOST_US ? wait * 2 : RETRY_MOST_US) {
		enum link_result result = connect_once(conn, t);

		if (result == LINK_UP)
			return 0;
		if (result == LINK_REFUSED || (result == LINK_UNREACHABLE && !patient))
			return -1;
		if (run_tick_us(conn->run) + wait - since_us > conn->timeout_us)
			return trouble_wrap(t, "gave up after %lld s", (long long)(conn->timeout_us / 1000000));
		if (pause_us(conn->run, wait, t) < 0)
			return -1;
	}
}

int redis_conn_open(const struct run *run, const struct redis_config *redis, int64_t timeout_ms,
		    struct redis_conn **conn, struct trouble *t)
{
	struct redis_conn *c = xalloc(sizeof(*c));

	*conn = NULL;
	c->run = run;
	c->redis = redis;
	c->timeout_us = timeout_ms * 1000;
	c->arena = reply_arena_new();
	c->lost_us = UNKNOWN;
	if (connect_within(c, run_tick_us(run), false, t) < 0) {
		redis_conn_close(c);
		return -1;
	}
	*conn = c;
	return 0;
}

void redis_conn_close(struct redis_conn *conn)
{
	if (!conn)
		return;
	redis_conn_drop(conn);
	reply_arena_free(conn->arena);
	buffer_release(&conn->commands);
	free(conn);
}

int redis_conn_reopen(struct redis_conn *conn, struct trouble *t)
{
	int64_t now = run_tick_us(conn->run);
	int result;

	if (conn->link)
		return 0;
	if (conn->lost_us == UNKNOWN)
		conn->lost_us = conn->gave_up ? now - conn->timeout_us : now;
	if (now - conn->lost_us > conn->timeout_us)
		result = trouble_wrap(t, "gave up after %lld s", (long long)(conn->timeout_us / 1000000));
	else
		result = connect_within(conn, conn->lost_us, true, t);
	if (result < 0) {
		conn->lost_us = UNKNOWN;
		conn->gave_up = true;
	}
	return result;
}

int redis_conn_process(const struct redis_conn *conn)
{
	return conn->process;
}

int redis_conn_ask(struct redis_conn *conn, size_t count, const struct bytes *arguments, redisReply **reply,
		   struct trouble *t)
{
	int got = 0;

	while (got == 0) {
		if (redis_conn_reopen(conn, t) < 0)
			return -1;
		conn->commands.size = 0;
		redis_format(&conn->commands, count, arguments);
		redis_conn_send(conn, &conn->commands);
		got = redis_conn_flush(conn, t);
		if (got > 0)
			got = redis_conn_receive(conn, reply, t);
	}
	return got > 0 ? 0 : -1;
}

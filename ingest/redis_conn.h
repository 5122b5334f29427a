/*
 * redis_conn: one connection to a Redis server, for pipelines of commands that only read.
 *
 *     redis_format(&out, 2, (struct bytes[]){ BYTES("PTTL"), key });      any number of commands
 *     redis_conn_send(conn, &out);
 *     redis_conn_flush(conn, t);
 *     redis_conn_receive(conn, &reply, t);                                one reply a command, in order
 *
 * Three answers: 1; 0 the link is lost, and redis_conn_reopen decides whether to go on; -1 trouble that trying again
 * does not cure. A reply that says that the server is not ready (it loads, a script runs) counts as a lost link: what
 * was in flight is asked again once the server is ready. All waiting ends when the run is to stop. The program must
 * ignore SIGPIPE: hiredis writes without asking for that.
 */
#ifndef INGEST_REDIS_CONN_H
#define INGEST_REDIS_CONN_H

#include <hiredis/hiredis.h>
#include <stdint.h>
#include <string.h>

#include "ingest/config.h"
#include "ingest/redis_reply.h"
#include "ingest/template.h"
#include "sql/facts.h"
#include "sql/run.h"
#include "sql/trouble.h"

struct redis_conn;

#define BYTES(literal) ((struct bytes){ literal, sizeof(literal) - 1 })

/* Appends a command in the protocol's form. */
void redis_format(struct buffer *out, size_t count, const struct bytes *arguments);

/*
 * Connects, authenticates, selects the database, names the connection and asks not to touch what it reads (where
 * allowed). A server that loads is waited for; one that refuses is trouble at once. timeout_ms: for all of this, and
 * for each reply. redis is borrowed until redis_conn_close. 0 or -1.
 */
int redis_conn_open(const struct run *run, const struct redis_config *redis, int64_t timeout_ms,
		    struct redis_conn **conn, struct trouble *t);
void redis_conn_close(struct redis_conn *conn);

/* Queues commands; nothing is sent yet. On a lost link they are dropped. */
void redis_conn_send(struct redis_conn *conn, const struct buffer *commands);

/* Sends all that is queued. */
int redis_conn_flush(struct redis_conn *conn, struct trouble *t);

/* The next reply; it lives until redis_conn_forget. Errors of the server are replies. */
int redis_conn_receive(struct redis_conn *conn, redisReply **reply, struct trouble *t);

/*
 * Takes a reply out of its bytes as they come, in place of objects. have: what was received and not used; used, in: 0,
 * out: how much of it shall not be shown again. 1 the reply is over; 0 more is to come; -1 trouble. At the first bytes
 * of a reply also REDIS_SCAN_OTHER: with nothing used, it is to come as objects.
 */
enum { REDIS_SCAN_OTHER = 2 };
typedef int redis_scan(void *context, struct bytes have, size_t *used, struct trouble *t);

/* As redis_conn_receive, by scan; reply is NULL unless scan left it alone. */
int redis_conn_scan(struct redis_conn *conn, redis_scan *scan, void *context, redisReply **reply, struct trouble *t);

/* Gives the memory of all replies back. */
void redis_conn_forget(struct redis_conn *conn);

/* One command and its reply, when nothing is in flight; a lost link is reopened and the command repeated. 0 or -1. */
int redis_conn_ask(struct redis_conn *conn, size_t count, const struct bytes *arguments, redisReply **reply,
		   struct trouble *t);

/* Gives the link up, and with it all that is in flight. */
void redis_conn_drop(struct redis_conn *conn);

/*
 * Connects anew, trying until the time-out has passed since the last reply was lost; a link that is up is left alone.
 * In: why it was lost. 0, or -1 with the words of the last attempt.
 */
int redis_conn_reopen(struct redis_conn *conn, struct trouble *t);

/*
 * Changes with every reconnection to what is not provably the same process (INFO's run_id): cursors of before mean
 * nothing there.
 */
int redis_conn_process(const struct redis_conn *conn);

/* For the words of errors. */
struct reply_origin redis_conn_origin(const struct redis_conn *conn, const char *command);

/* The value of a line "name:value" of an INFO reply; at NULL where there is none. Borrowed. */
struct bytes redis_info_value(struct bytes info, const char *name);

#endif

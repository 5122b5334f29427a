/*
 * redis_server: what a server says of itself, into redis_server, redis_info and redis_setting: INFO, its clock, and
 * the settings that checks read. It needs a connection alone:
 *
 *     redis_server_record(run, conn, redis, writer, t);
 *
 * Where TIME may not be asked, INFO's server_time_usec is the clock (Redis 6.2 and newer). Where CONFIG GET may not,
 * settings_trouble has the words: that is what a service without CONFIG or a careful ACL looks like, and no trouble of
 * the run.
 */
#ifndef INGEST_REDIS_SERVER_H
#define INGEST_REDIS_SERVER_H

#include <sqlite3.h>

#include "ingest/config.h"
#include "ingest/redis_conn.h"
#include "sql/facts.h"
#include "sql/run.h"
#include "sql/trouble.h"
#include "sql/writer.h"

struct redis_server;

/* Asks, when nothing is in flight; forgets all replies. The caller frees *server. 0, or -1 with words. */
int redis_server_look(const struct run *run, struct redis_conn *conn, const struct redis_config *redis,
		      struct redis_server **server, struct trouble *t);
void redis_server_free(struct redis_server *server);

/* All of INFO; borrowed from the server. */
struct bytes redis_server_info(const struct redis_server *server);

/*
 * Writes the rows; a server that the run has already looked at stays as it was seen first. The first through the
 * writer, which takes the server in any case; the second on a connection of the caller's, inside its transaction.
 * 0 or -1.
 */
int redis_server_push(struct redis_server *server, struct writer *writer, struct trouble *t);
int redis_server_add(const struct redis_server *server, sqlite3 *db, struct trouble *t);

/* The reply to TIME, ["1700000000", "123456"], in microseconds; UNKNOWN where it is anything else. */
int64_t redis_time_us(const redisReply *reply);

/* Looks and pushes. 0 or -1. */
int redis_server_record(const struct run *run, struct redis_conn *conn, const struct redis_config *redis,
			struct writer *writer, struct trouble *t);

#endif

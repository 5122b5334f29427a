/* A Redis connection as the programs use it. Where Redis does not answer, the program ends: a restart resumes. */
#ifndef PIPELINE_REDIS_H
#define PIPELINE_REDIS_H

#include <hiredis/hiredis.h>

#include "util.h"

/*
 * Connect to "host:port", "/path", "redis://[user:password@]host:port[/db]" or "unix:///path[?db=n]". A password that
 * is not given comes from REDISCLI_AUTH, as with redis-cli.
 */
redisContext *redis_open(const char *where);

/* Queue a command of n arguments for redis_reply. */
void redis_queue(redisContext *r, int n, const struct bytes *args);

/* The next queued command's reply, errors included; the caller frees it with freeReplyObject. */
redisReply *redis_reply(redisContext *r);

/* Run one command; an error reply ends the program. The caller frees the reply. */
redisReply *redis_run(redisContext *r, int n, const struct bytes *args);

/* Run one command for its integer (or its status, which counts as 0). */
int64_t redis_number(redisContext *r, int n, const struct bytes *args);

/* A string reply as bytes borrowed from it; NULL data where it is nil. */
struct bytes redis_bytes(const redisReply *reply);

#define REDIS_ARGS(...) \
	(int)(sizeof((struct bytes[]){ __VA_ARGS__ }) / sizeof(struct bytes)), (const struct bytes[]){ __VA_ARGS__ }

#endif

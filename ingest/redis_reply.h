/*
 * redis_reply: replies of a Redis server in memory that is given back all at once, and what their errors mean.
 *
 * hiredis parses; the objects it asks for are laid one after another into an arena, so that a page of thousands of
 * replies costs no allocation.
 */
#ifndef INGEST_REDIS_REPLY_H
#define INGEST_REDIS_REPLY_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/facts.h"

struct reply_arena;

struct reply_arena *reply_arena_new(void);
void reply_arena_free(struct reply_arena *arena);

/* Forgets every reply. */
void reply_arena_reset(struct reply_arena *arena);

/* From now on the reader lays its replies into the arena, which must outlive it. */
void reply_arena_attach(struct reply_arena *arena, redisReader *reader);

/*
 * What an error reply means for a reader: X(NAME, how the reply begins). The first that fits; OTHER fits every error.
 *   AGAIN: it will pass (a server that loads, a script that runs, a replica without its master, a slot in motion)
 */
#define REDIS_FAULTS(X)                                                                                              \
	X(AGAIN, "LOADING ")                                                                                         \
	X(AGAIN, "BUSY ") X(AGAIN, "MASTERDOWN ") X(AGAIN, "TRYAGAIN ") X(WRONG_TYPE, "WRONGTYPE ")                  \
		X(READONLY, "READONLY ") X(NO_PERMISSION, "NOPERM ") X(NO_AUTH, "NOAUTH ")                           \
			X(WRONG_PASSWORD, "WRONGPASS ") X(WRONG_PASSWORD, "ERR invalid password")                    \
				X(NO_PASSWORD_SET, "ERR Client sent AUTH, but no password is set")                   \
					X(NO_PASSWORD_SET, "ERR AUTH <password> called without any password")        \
						X(MOVED, "MOVED ") X(MOVED, "ASK ") X(MOVED, "CLUSTERDOWN ")         \
							X(UNKNOWN_COMMAND, "ERR unknown command")                    \
								X(UNKNOWN_COMMAND, "ERR unknown subcommand")         \
									X(UNKNOWN_COMMAND, "ERR Unknown subcommand") \
										X(OTHER, "")

enum redis_fault {
	REDIS_FAULT_NONE,
	REDIS_FAULT_AGAIN,
	REDIS_FAULT_WRONG_TYPE,
	REDIS_FAULT_READONLY,
	REDIS_FAULT_NO_PERMISSION,
	REDIS_FAULT_NO_AUTH,
	REDIS_FAULT_WRONG_PASSWORD,
	REDIS_FAULT_NO_PASSWORD_SET,
	REDIS_FAULT_MOVED,
	REDIS_FAULT_UNKNOWN_COMMAND,
	REDIS_FAULT_OTHER,
};

enum redis_fault reply_fault(const redisReply *reply);

/* Where an error came from: for its words. Borrowed for the call. */
struct reply_origin {
	const char *command;
	const char *user; /* NULL: the default user */
};

/*
 * Says what the error is and what to do about it. Always -1. Words of the server are shown escaped, never those about
 * AUTH: they may repeat a secret.
 */
int reply_trouble(const redisReply *reply, const struct reply_origin *origin, struct trouble *t);

static inline bool reply_is_text(const redisReply *reply)
{
	return reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS;
}

/* The bytes of a string or status; at NULL for anything else. */
static inline struct bytes reply_bytes(const redisReply *reply)
{
	return reply_is_text(reply) ? (struct bytes){ reply->str, reply->len } : (struct bytes){ NULL, 0 };
}

#endif

/*
 * redis_row: what the replies about one Redis key say, as a row of table fence. What is odd about a key is a sample,
 * not trouble.
 */
#ifndef INGEST_REDIS_ROW_H
#define INGEST_REDIS_ROW_H

#include "ingest/redis_look.h"

struct row_replies {
	redisReply *fields;     /* HMGET */
	redisReply *ttl;        /* PTTL */
	redisReply *field_ttls; /* HPTTL; NULL: not asked */
	redisReply *type;       /* TYPE; NULL: not asked */
};

struct row {
	struct fact_fence fence; /* borrows from key, replies and this struct */
	char malformed[96];
	char type[32];
};

/*
 * 1 a row, but for the time; 0 the replies contradict each other: ask again; -1 an error of the server that is no
 * sample.
 */
int row_make(struct look *look, const struct look_key *key, const struct row_replies *replies, struct row *row,
	     struct trouble *t);

#endif

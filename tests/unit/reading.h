/* A reader of Redis replies as a connection has it, for tests that need no server. Include after cmocka.h. */
#ifndef TESTS_UNIT_READING_H
#define TESTS_UNIT_READING_H

#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "ingest/redis_reply.h"
#include "sql/mem.h"

struct reading {
	struct reply_arena *arena;
	redisReader *reader;
};

static int open_reading(void **state)
{
	struct reading *r = xalloc(sizeof(*r));

	r->arena = reply_arena_new();
	r->reader = redisReaderCreate();
	reply_arena_attach(r->arena, r->reader);
	*state = r;
	return 0;
}

static int close_reading(void **state)
{
	struct reading *r = *state;

	redisReaderFree(r->reader);
	reply_arena_free(r->arena);
	free(r);
	return 0;
}

#endif

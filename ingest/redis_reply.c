/* redis_reply: hiredis' object functions over an arena, and the words for errors. */
#include "ingest/redis_reply.h"

#include <stdlib.h>
#include <string.h>

#include "sql/keytext.h"
#include "sql/mem.h"

enum { ARENA_ROOM = 256 << 10, ARENA_KEPT = 8 << 20, ERROR_SHOWN = 200 };

struct arena_block {
	struct arena_block *older;
	size_t used, room;
	_Alignas(max_align_t) uint8_t data[];
};

struct reply_arena {
	struct arena_block *newest;
	size_t bytes; /* of all blocks */
};

static void add_block(struct reply_arena *arena, size_t room)
{
	struct arena_block *b = xgrow(NULL, sizeof(*b) + room, 1);

	b->older = arena->newest;
	b->used = 0;
	b->room = room;
	arena->newest = b;
	arena->bytes += room;
}

static void free_blocks(struct reply_arena *arena)
{
	while (arena->newest) {
		struct arena_block *b = arena->newest;

		arena->newest = b->older;
		free(b);
	}
	arena->bytes = 0;
}

struct reply_arena *reply_arena_new(void)
{
	struct reply_arena *arena = xalloc(sizeof(*arena));

	add_block(arena, ARENA_ROOM);
	return arena;
}

void reply_arena_free(struct reply_arena *arena)
{
	if (!arena)
		return;
	free_blocks(arena);
	free(arena);
}

/* One block as large as all together is left, so that the next page of the same size fits into it. */
void reply_arena_reset(struct reply_arena *arena)
{
	size_t room = arena->bytes < ARENA_KEPT ? arena->bytes : ARENA_ROOM;

	if (arena->newest->older || arena->newest->room > ARENA_KEPT) {
		free_blocks(arena);
		add_block(arena, room);
	}
	arena->newest->used = 0;
}

static void *take(struct reply_arena *arena, size_t size)
{
	void *at;

	size = (size + 15) & ~(size_t)15;
	if (arena->newest->room - arena->newest->used < size)
		add_block(arena, size > ARENA_ROOM ? size : ARENA_ROOM);
	at = arena->newest->data + arena->newest->used;
	arena->newest->used += size;
	return at;
}

static redisReply *make(const redisReadTask *task, size_t more)
{
	redisReply *reply = take(task->privdata, sizeof(*reply) + more);

	memset(reply, 0, sizeof(*reply));
	reply->type = task->type;
	if (task->parent)
		((redisReply *)task->parent->obj)->element[task->idx] = reply;
	return reply;
}

static void *make_string(const redisReadTask *task, char *text, size_t size)
{
	redisReply *reply = make(task, size + 1);

	reply->str = (char *)(reply + 1);
	memcpy(reply->str, text, size);
	reply->str[size] = '\0';
	reply->len = size;
	return reply;
}

#if HIREDIS_MAJOR > 0
typedef size_t element_count;
#else
typedef int element_count;
#endif

static void *make_array(const redisReadTask *task, element_count elements)
{
	redisReply *reply = make(task, (size_t)elements * sizeof(*reply->element));

	reply->element = (redisReply **)(reply + 1);
	reply->elements = (size_t)elements;
	return reply;
}

static void *make_integer(const redisReadTask *task, long long value)
{
	redisReply *reply = make(task, 0);

	reply->integer = value;
	return reply;
}

static void *make_nil(const redisReadTask *task)
{
	redisReply *reply = make(task, 0);

	reply->type = REDIS_REPLY_NIL; /* the task's is the one that the protocol announced */
	return reply;
}

static void leave(void *reply)
{
	(void)reply; /* the arena's */
}

/* Numbers and truth values of protocol 3 never come: it is not asked for. */
static const redisReplyObjectFunctions functions = {
	.createString = make_string,
	.createArray = make_array,
	.createInteger = make_integer,
	.createNil = make_nil,
	.freeObject = leave,
};

void reply_arena_attach(struct reply_arena *arena, redisReader *reader)
{
	reader->fn = (redisReplyObjectFunctions *)&functions; /* only read */
	reader->privdata = arena;
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

enum redis_fault reply_fault(const redisReply *reply)
{
	static const struct {
		enum redis_fault fault;
		const char *start;
	} faults[] = {
#define ROW(name, start) { REDIS_FAULT_##name, start },
		REDIS_FAULTS(ROW)
#undef ROW
	};
	size_t i = 0;

	if (reply->type != REDIS_REPLY_ERROR)
		return REDIS_FAULT_NONE;
	while (strncmp(reply->str, faults[i].start, strlen(faults[i].start)))
		i++;
	return faults[i].fault;
}

/* What the server said, fit for a screen. out has KEYTEXT_ROOM(ERROR_SHOWN). */
static const char *shown(const redisReply *reply, char *out)
{
	keytext_write(reply->str, reply->len < ERROR_SHOWN ? reply->len : ERROR_SHOWN, out);
	return out;
}

/* "MOVED 3999 127.0.0.1:6381" */
static int moved_trouble(const redisReply *reply, const char *said, struct trouble *t)
{
	const char *slot = strchr(reply->str, ' ');

	if (!strncmp(reply->str, "CLUSTERDOWN", 11) || !slot)
		return trouble_set(t, "the server is a node of a cluster, which is not covered: %s", said);
	return trouble_set(t,
			   "slot %d is served by another node of the cluster: cluster mode is not covered, one server "
			   "must hold all keys (%s)",
			   atoi(slot + 1), said);
}

int reply_trouble(const redisReply *reply, const struct reply_origin *origin, struct trouble *t)
{
	char text[KEYTEXT_ROOM(ERROR_SHOWN)];
	const char *said = shown(reply, text), *user = origin->user ? origin->user : "default";

	switch (reply_fault(reply)) {
	case REDIS_FAULT_NO_PERMISSION:
		return trouble_set(t,
				   "user %s may not run %s: %s; an auditor needs: ACL SETUSER %s on %%R~KEYS +@read "
				   "-@dangerous +info +hello +auth "
				   "+ping +select +client|setname +client|no-touch, with KEYS the patterns of the "
				   "fences and epochs (before Redis 7.0: "
				   "~KEYS and no no-touch)",
				   user, origin->command, said, user);
	case REDIS_FAULT_NO_AUTH:
		return trouble_set(t, "the server wants a password: give user and password in redis.url or password, "
				      "or set REDISCLI_AUTH");
	case REDIS_FAULT_WRONG_PASSWORD:
		return trouble_set(t,
				   "wrong password for user %s, or the user is disabled: see redis.url, password and "
				   "REDISCLI_AUTH",
				   user);
	case REDIS_FAULT_NO_PASSWORD_SET:
		return trouble_set(t, "a password is configured, but the server's default user has none: remove it "
				      "from redis.url, password or "
				      "REDISCLI_AUTH, or name the user");
	case REDIS_FAULT_READONLY:
		return trouble_set(t,
				   "%s was refused as a write (%s), though it only reads: a proxy or a renamed command "
				   "stands in between; connect "
				   "to the server itself",
				   origin->command, said);
	case REDIS_FAULT_MOVED: return moved_trouble(reply, said, t);
	case REDIS_FAULT_AGAIN: return trouble_set(t, "%s: not ready: %s", origin->command, said);
	default:
		/* An unknown AUTH is answered with its arguments. */
		if (!strcmp(origin->command, "AUTH"))
			return trouble_set(t, "AUTH as user %s was refused", user);
		return trouble_set(t, "%s: %s", origin->command, said);
	}
}

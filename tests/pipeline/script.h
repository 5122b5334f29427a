/* The fence scripts in a Redis, called by their hash and loaded again where the server has forgotten them. */
#ifndef PIPELINE_SCRIPT_H
#define PIPELINE_SCRIPT_H

#include "opts.h"
#include "redis.h"

struct script {
	struct buf text;
	char sha[41];
};

enum verdict { VERDICT_FENCE, VERDICT_APPLY, VERDICT_REBASE, VERDICT_REEMIT, VERDICT_SKIP, VERDICT_DLQ };

/* The word of the contract for a verdict. */
const char *verdict_name(enum verdict v);

/*
 * Read the script "fence.lua" or "drop.lua" and load it. It is looked for beside c->script where that is given, else
 * in tests/pipeline as seen from build/pipeline, where the program lies. Field names of c replace those in the text.
 */
void script_load(struct script *s, redisContext *r, const struct common *c, const char *name);

void script_release(struct script *s);

/* One call: KEYS and ARGV of fence.lua, all borrowed. */
struct call {
	struct bytes state_key, epoch_key;
	int32_t partition;
	int64_t offset, epoch;
	struct bytes value;
};

/* Queue a call for script_answer. */
void script_call(const struct script *s, redisContext *r, const struct call *call);

/*
 * The answer of the next queued call. False where the server has no such script: nothing was touched, call again
 * after script_reload. *reply keeps the REEMIT value (its element 1) and is the caller's to free.
 */
bool script_answer(redisContext *r, enum verdict *v, redisReply **reply);

void script_reload(struct script *s, redisContext *r);

#endif

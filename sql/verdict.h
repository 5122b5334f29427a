/*
 * What the fence contract says of an incoming record, twice: as the contract reads, over numbers, and as the Lua script
 * does it, over whatever bytes Redis holds. The two agree wherever the stored numbers are well formed
 * (sql/fencefield.h); a test holds the second against the script in a real Redis.
 */
#ifndef SQL_VERDICT_H
#define SQL_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VERDICTS(X)                                                                        \
	X(APPLY)  /* state updated, fence set or moved; emit */                            \
	X(REEMIT) /* applied before: state untouched; emit again from the stored value */  \
	X(SKIP)   /* a later record was applied before: untouched, nothing emitted */      \
	X(REBASE) /* the fence stood on another partition: state updated, fence reset; emit, with an alert */ \
	X(FENCE)  /* the caller no longer owns the partition: untouched, nothing emitted */ \
	X(DLQ)    /* the record is not in its home partition: untouched, nothing emitted */

enum verdict {
#define X(name) VERDICT_##name,
	VERDICTS(X)
#undef X
	VERDICT_COUNT
};

/* "APPLY" and so on. */
const char *verdict_name(enum verdict verdict);

/* An incoming record as its worker sees it. */
struct incoming {
	int32_t home;      /* home partition of its key */
	int32_t partition; /* where it stands */
	int64_t offset;
	int64_t epoch;     /* of the caller */
};

/* A well-formed fence as it is stored: its partition may be one that no topic has. */
struct fence {
	int64_t partition, offset;
};

/* The verdict of the contract. An epoch that is absent in Redis is 0; fence is NULL where there is none yet. */
enum verdict fence_verdict(const struct incoming *in, int64_t current_epoch, const struct fence *fence);

/* A string as Redis returned it; data is NULL where there was none. Borrowed. */
struct stored {
	const char *data;
	size_t len;
};

/* All that the script looks at in Redis. */
struct stored_fence {
	struct stored epoch, offset, partition;
	bool epoch_wrong_type; /* the epoch key holds no string */
	bool state_wrong_type; /* the state key holds no hash */
};

/*
 * The verdict of the worker and its script on this state, accidents of Lua's number formats included. Returns 1 and
 * sets *verdict, or 0 where the script ends in an error (a number that Lua cannot read, a key of the wrong type).
 */
int script_verdict(const struct incoming *in, const struct stored_fence *stored, enum verdict *verdict);

#endif

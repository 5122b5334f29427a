/*
 * The numbers that a pipeline stores in Redis (a fence's partition and offset, a partition's epoch), read strictly.
 *
 * The Lua script reads numbers as Lua does: "05", " 5" and "0x5" are five to it and three different partitions, "5e0"
 * is an offset, and at 2^53 neighbours become equal. A stored number is well formed only where every reader must see
 * the same one: its shortest decimal form, exact as a double. All else is malformed, and the word below says why.
 */
#ifndef SQL_FENCEFIELD_H
#define SQL_FENCEFIELD_H

#include <stddef.h>
#include <stdint.h>

/* X(NAME, word for reports). The first is the only well-formed one. */
#define FENCEFIELD_STATES(X)                                                                                       \
	X(OK, "ok")                                                                                                \
	X(MISSING, "missing")           /* the hash has no such field */                                           \
	X(EMPTY, "empty")                                                                                          \
	X(SIGNED, "signed")             /* "+5" anywhere; "-1" where no negative number can be */                  \
	X(LEADING_ZERO, "leading-zero") /* "05", "-0" */                                                           \
	X(NOT_DECIMAL, "not-decimal")   /* any byte that is no digit: " 5", "1e3", "0x10", "abc" */                \
	X(INEXACT, "inexact")           /* 2^53 or more: an int64 that Lua cannot tell from its neighbour */       \
	X(OVERFLOW, "overflow")         /* no int64: 2^63 and more */

enum fencefield {
#define X(name, word) FENCEFIELD_##name,
	FENCEFIELD_STATES(X)
#undef X
};

/* The word for reports. */
const char *fencefield_word(enum fencefield state);

/*
 * Reads text[0..len), NULL meaning that there is no such field, as a canonical non-negative int64. *value is set where
 * the result is OK or INEXACT, else to UNKNOWN. Only OK is well formed.
 */
enum fencefield fencefield_read(const char *text, size_t len, int64_t *value);

/* The same for an epoch, a counter that may be negative: "-1" is well formed, -2^63 an overflow. */
enum fencefield fencefield_read_epoch(const char *text, size_t len, int64_t *value);

#endif

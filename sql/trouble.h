/*
 * trouble: why a stage could not do its job, in words for the operator.
 *
 * Trouble is not a finding. A function that cannot go on fills a struct trouble, innermost reason first, and returns
 * -1; callers on the way up put what they were doing in front:
 *
 *     if (db_step(stmt, t) < 0)
 *             return trouble_wrap(t, "replay %s/%d", topic, partition);
 *
 *     replay orders/3: at 1204 of [900,2000): broker transport failure
 */
#ifndef SQL_TROUBLE_H
#define SQL_TROUBLE_H

struct trouble {
	char text[1024]; /* empty: no trouble; cut with "..." where longer */
};

/* Replaces the text. Always returns -1, so that `return trouble_set(...)` reads well. t may be NULL. */
int trouble_set(struct trouble *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts what was being done and ": " in front of the text. Always returns -1. */
int trouble_wrap(struct trouble *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

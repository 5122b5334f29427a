/*
 * run: what every stage is told about this execution. One const struct run is built in main and passed first
 * everywhere; nobody else reads clock, environment or arguments.
 */
#ifndef SQL_RUN_H
#define SQL_RUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number that nobody could tell. Stored as NULL, printed as null; never 0. */
#define UNKNOWN INT64_MIN

/* The offsets a run may speak about: start inside, end outside, start <= end. */
struct horizon {
	int64_t start, end;
};

static inline bool horizon_has(struct horizon h, int64_t offset)
{
	return h.start <= offset && offset < h.end;
}

/* Where a stage stands; main prints it at most once a second. total is UNKNOWN where nobody can tell. */
struct progress {
	const char *stage; /* "replay", "sample", "fold", "check" */
	const char *what;  /* "records", "keys"; borrowed for the call */
	int64_t done, total;
};

struct run {
	int64_t id;                              /* row of table run, once main has opened the index */
	int64_t (*wall_us)(void *context);       /* microseconds since 1970, UTC */
	int64_t (*tick_us)(void *context);       /* microseconds of a clock that never steps; for time-outs and rates */
	void (*progress)(void *context, const struct progress *p);     /* may be called from any thread */
	void (*note)(void *context, const char *text); /* a line for stderr, without newline; from any thread */
	const atomic_int *stop;                  /* not 0: end early, commit what is whole */
	void *context;                           /* for the functions above */
	size_t memory;                           /* bytes for the tables of the fold and the key set (--memory) */
};

static inline int64_t run_now_us(const struct run *run)
{
	return run->wall_us(run->context);
}

static inline int64_t run_tick_us(const struct run *run)
{
	return run->tick_us(run->context);
}

static inline bool run_stopped(const struct run *run)
{
	return atomic_load_explicit(run->stop, memory_order_relaxed) != 0;
}

static inline void run_progress(const struct run *run, const char *stage, const char *what, int64_t done, int64_t total)
{
	struct progress p = { .stage = stage, .what = what, .done = done, .total = total };

	if (run->progress)
		run->progress(run->context, &p);
}

/* Formats and hands a line to main's stderr. */
void run_note(const struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

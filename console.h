/*
 * console: the one who writes to stderr: notes as they come, progress at most once a second. A part of main.
 */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "sql/run.h"
#include "sql/trouble.h"

/* What the callbacks of struct run need. */
struct console {
	pthread_mutex_t lock;
	bool quiet, terminal, dirty; /* dirty: a progress line without its newline is on the terminal */
	int64_t shown_us, since_us, since_done;
	const char *stage;
};

/* The callbacks of struct run; context is the console. Safe from any thread. */
void console_note(void *context, const char *text);
void console_progress(void *context, const struct progress *p);

/* Says the trouble and gives status back. */
int console_fail(struct console *console, int status, const struct trouble *t);

/* Ends a progress line that stands on a terminal without its newline. */
void console_end_progress(struct console *console);

#endif

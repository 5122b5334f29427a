/* console: notes and progress. */
#include "console.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t monotonic_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void console_end_progress(struct console *console)
{
	if (console->dirty)
		fputc('\n', stderr);
	console->dirty = false;
}

void console_note(void *context, const char *text)
{
	struct console *console = context;

	pthread_mutex_lock(&console->lock);
	console_end_progress(console);
	fprintf(stderr, "fencepost: %s\n", text);
	pthread_mutex_unlock(&console->lock);
}

static void show_progress(struct console *console, const struct progress *p, int64_t now)
{
	double seconds = (double)(now - console->since_us) / 1e6;
	double rate = seconds > 0 ? (double)(p->done - console->since_done) / seconds : 0;

	fprintf(stderr, "%sfencepost: %s %lld", console->terminal ? "\r\033[K" : "", p->stage, (long long)p->done);
	if (p->total != UNKNOWN)
		fprintf(stderr, " of %lld", (long long)p->total);
	fprintf(stderr, " %s, %.0f/s", p->what, rate);
	if (p->total != UNKNOWN && rate > 0 && p->total > p->done)
		fprintf(stderr, ", %.0f s left", (double)(p->total - p->done) / rate);
	fputs(console->terminal ? "" : "\n", stderr);
	fflush(stderr);
	console->dirty = console->terminal;
}

void console_progress(void *context, const struct progress *p)
{
	struct console *console = context;
	int64_t now;

	if (console->quiet)
		return;
	pthread_mutex_lock(&console->lock);
	now = monotonic_us();
	if (!console->stage || strcmp(console->stage, p->stage) != 0 || p->done < console->since_done) {
		console->stage = p->stage;
		console->since_us = console->shown_us = now;
		console->since_done = p->done;
	} else if (now - console->shown_us >= 1000000) {
		console->shown_us = now;
		show_progress(console, p, now);
	}
	pthread_mutex_unlock(&console->lock);
}

int console_fail(struct console *console, int status, const struct trouble *t)
{
	console_note(console, t->text[0] ? t->text : "failed for a reason that nobody told");
	return status;
}

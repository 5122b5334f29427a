/*
 * options: the command line. A part of main.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <popt.h>
#include <stdbool.h>
#include <stdint.h>

#include "ingest/config.h"
#include "sql/trouble.h"

/* Options as text, before their values are read. */
struct option_texts {
	char *format, *since, *memory, *timeout, *wait, *deadline;
	char **properties;
	long long handles, rate, explain_rebases;
};

/* What popt stores is ours: options_release. command and arguments are popt's. */
struct options {
	struct option_texts texts;
	const char *command, *config, *output, *index, *checks, *metrics;
	int quiet, all, help, version; /* popt sets ints */
	bool json;
	int64_t explain_rebases; /* keys; 0: none */
	int64_t wait_ms, timeout_ms, deadline_ms, since_us, memory, handles;
	struct config_overrides overrides;
	struct poptOption *rows;
	poptContext popt;
	const char **arguments; /* after the command */
	int argument_count;
};

/*
 * Reads the command line into o; now_us is the time that --since must not lie beyond. 0, or -1 with words for status
 * 64; o is released in either case by options_release.
 */
int options_read(struct options *o, int argc, const char **argv, int64_t now_us, struct trouble *t);

/* Overwrites the secrets of -u and -X in the process list. Call once their values were copied by popt. */
void options_cover_secrets(const struct options *o, int argc, const char **argv);

void options_release(struct options *o);

#endif

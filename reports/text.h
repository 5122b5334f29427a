/*
 * text: a summary for a person, one block a pipeline, a stream of the config, and a server that something was found
 * of. It says what was found and what was looked at; nothing found and
 * nothing looked at never read alike. Numbers have thousands separators in every locale; nothing foreign reaches the
 * terminal raw.
 */
#ifndef REPORTS_TEXT_H
#define REPORTS_TEXT_H

#include <jansson.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

#include "sql/trouble.h"

/*
 * directory: of the run's report, for the commands shown; NULL where there is none. 0 or -1; write errors of out are
 * the caller's to check.
 */
int text_print(sqlite3 *db, const json_t *summary, const char *directory, FILE *out, struct trouble *t);

/* Only what was looked at, for a run that has no checks. */
void text_print_looked(const json_t *summary, FILE *out);

#endif

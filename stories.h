/*
 * stories: fencepost check --explain-rebases N: rebased keys, record by record, on stdout. A part of main.
 */
#ifndef STORIES_H
#define STORIES_H

#include <sqlite3.h>

#include "options.h"
#include "sql/run.h"
#include "sql/trouble.h"

/* As text, or with --format json one JSON object a key and line. 0 or -1. */
int stories_show(const struct options *o, const struct run *run, sqlite3 *db, struct trouble *t);

#endif

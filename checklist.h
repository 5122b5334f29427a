/*
 * checklist: the checks there are, shown on stdout: a list, one with its claim and its SQL, or as JSON. A part of main.
 */
#ifndef CHECKLIST_H
#define CHECKLIST_H

#include "options.h"
#include "sql/trouble.h"

/* All checks, or the one that the first argument names. 0, or -1 with words for status 64. */
int checklist_show(const struct options *o, struct trouble *t);

#endif

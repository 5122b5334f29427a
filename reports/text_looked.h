/*
 * text_looked: the lines of a text block that say what was looked at, what could not be, and in which state things
 * were.
 */
#ifndef REPORTS_TEXT_LOOKED_H
#define REPORTS_TEXT_LOOKED_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* "  label   words": the words on one line, safe on a screen. */
void text_print_line(FILE *out, const char *label, const char *words);

/* " written since 02:30:00Z (all looked at)": which of a pipeline's keys its fence checks speak of. */
void text_print_scope(const json_t *summary, const json_t *pipeline, FILE *out);

/* "02:30:00Z" on the day on which the run started, else "2026-11-30T02:30:00Z". */
void text_print_time(const json_t *summary, int64_t us, FILE *out);

/* How much of a scope (NULL: of the whole run) could not be looked at, but for the checks that were not run. */
int64_t text_trouble_count(const json_t *summary, const char *scope);

/* The first few of these, a line each. */
void text_print_trouble(const json_t *summary, const char *pipeline, FILE *out);

/* The lines redis, workers, looked and bound, as far as the block has them. */
void text_print_facts(const json_t *summary, const json_t *block, FILE *out);

#endif

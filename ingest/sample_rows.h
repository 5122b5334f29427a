/*
 * sample_rows: inserts many rows of table fence with one statement, several times as fast as a statement a row.
 *
 *     INSERT INTO fence (...) SELECT ... FROM sample_rows(?)
 *
 * sample_rows is a virtual table over an array in memory, whose address is bound.
 */
#ifndef INGEST_SAMPLE_ROWS_H
#define INGEST_SAMPLE_ROWS_H

#include <stddef.h>

#include "sql/facts.h"
#include "sql/trouble.h"
#include "sql/writer.h"

/* Borrowed for the call of sample_rows_insert. */
struct sample_rows {
	const struct fact_fence *rows;
	size_t count;
};

/* On the writer's thread, inside its transaction. 0 or -1. */
int sample_rows_insert(struct writer *writer, const struct sample_rows *rows, struct trouble *t);

#endif

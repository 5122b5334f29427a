/*
 * bulk: many rows from memory into a table by one statement, which costs a third of a statement a row. The statement
 * reads the rows from a virtual table that stands on this connection alone:
 *
 *     INSERT INTO key_state (topic_id, partition, ...) SELECT c0, c1, ... FROM bulk;
 */
#ifndef ANALYZER_BULK_H
#define ANALYZER_BULK_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/trouble.h"

enum { BULK_COLUMNS = 40 }; /* c0 to c39 */

/* One row while it is filled, from the left. */
struct bulk_row {
	struct bulk_value {
		enum { BULK_INT, BULK_BLOB, BULK_TEXT } kind;
		int64_t number;      /* UNKNOWN: NULL */
		const void *bytes;   /* NULL: NULL; text ends with NUL. Borrowed until the next row */
		size_t size;
	} value[BULK_COLUMNS];
	int columns;
};

void bulk_int(struct bulk_row *row, int64_t value);
void bulk_blob(struct bulk_row *row, const void *bytes, size_t size);
void bulk_text(struct bulk_row *row, const char *text);

struct bulk_source {
	size_t rows;
	void (*fill)(void *context, size_t index, struct bulk_row *row); /* row index, from 0 on; row is empty */
	void *context;
};

/* Runs sql once with the rows of source as table bulk. 0 or -1. */
int bulk_insert(sqlite3 *db, const char *sql, const struct bulk_source *source, struct trouble *t);

#endif

/*
 * rows: rows of the index as JSON. The SQL files of sql/reports name the fields and their order; the end of a column's
 * name says what its value is:
 *
 *     AS name           an integer, a real or a text as it is; NULL is null
 *     AS "started@"     microseconds since 1970, as RFC 3339 in UTC under "started"
 *     AS "whole?"       0 and 1 as false and true
 *     AS "evidence{}"   JSON text, as the object or list it stands for; {"unreadable": text} where it is neither
 *
 * Text that is no UTF-8 comes in its text form (sql/keytext.h). Memory for JSON is never short: out of memory ends the
 * program (sql/mem.h).
 */
#ifndef REPORTS_ROWS_H
#define REPORTS_ROWS_H

#include <jansson.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "sql/trouble.h"

/*
 * How JSON lines are written. ASCII alone: other characters come as \uNNNN, so that no reader takes one for the end of
 * a line, and none drives or reorders a terminal.
 */
#define ROWS_JSON (JSON_COMPACT | JSON_ENSURE_ASCII)

/* What the statements may bind: :run, :pipeline, :topic, :role, :check. Borrowed; NULL is NULL. */
struct row_keys {
	int64_t run;
	const char *pipeline, *topic, *role, *check;
};

/* Prepares a statement of sql/reports and binds the keys. The caller finalizes *stmt. 0 or -1. */
int rows_prepare(sqlite3 *db, const char *sql, const struct row_keys *keys, sqlite3_stmt **stmt, struct trouble *t);

/* A cell of the current row as it is, whatever its column's name. The caller owns it. */
json_t *rows_value(sqlite3_stmt *stmt, int column);

/* The current row's first columns as an object. The caller owns it. */
json_t *rows_object(sqlite3_stmt *stmt, int columns);

/* All rows as an array of objects; NULL on trouble. The caller owns it. */
json_t *rows_list(sqlite3 *db, const char *sql, const struct row_keys *keys, struct trouble *t);

/* The first row in *object: 1, or 0 where there is none (then *object is NULL), or -1. The caller owns it. */
int rows_one(sqlite3 *db, const char *sql, const struct row_keys *keys, json_t **object, struct trouble *t);

/* Puts value, which the object then owns, at the end of object. */
void json_put(json_t *object, const char *name, json_t *value);

/* Puts value, which the list then owns, at the end of list. */
void json_add(json_t *list, json_t *value);

/* Moves a field from one object to the end of another; one that is not there becomes null. */
void json_move(json_t *from, const char *name, json_t *to);

/* An integer of an object; null or absent is UNKNOWN. */
int64_t json_int(const json_t *object, const char *name);

/* A text of an object, borrowed; null or absent is NULL. */
const char *json_text(const json_t *object, const char *name);

/* True only where the field is true. */
bool json_flag(const json_t *object, const char *name);

#endif

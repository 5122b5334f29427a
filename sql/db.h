/*
 * db: SQLite with three-valued steps and words for trouble. A loop over rows ends on 0, never on trouble:
 *
 *     sqlite3_stmt *rows = db_query(db, sql_queries_NAME, id, t);
 *
 *     while ((more = db_step(rows, t)) > 0)
 *             use(rows);
 *     sqlite3_finalize(rows);
 *     return more;
 *
 * SQL text comes from files, compiled in as sql_queries_NAME (build/gen/sql_data.h); values are bound.
 */
#ifndef SQL_DB_H
#define SQL_DB_H

#include <stddef.h>
#include <stdint.h>

#include "sql/sqlite.h"
#include "sql/trouble.h"

/* Prepares one statement (persistent). The caller finalizes *stmt. 0, or -1 with *stmt NULL. */
int db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **stmt, struct trouble *t);

/*
 * The same for a loop over rows of one id, which is bound as value 1; others are bound as ever. NULL on trouble, which
 * then needs no look: to NULL binding does nothing, its step is -1 and leaves *t, and it may be finalized.
 */
sqlite3_stmt *db_query(sqlite3 *db, const char *sql, int64_t id, struct trouble *t);

/* 1 a row, 0 done (the statement is reset), -1 trouble (the statement is reset, or the NULL of db_query). */
int db_step(sqlite3_stmt *stmt, struct trouble *t);

/* Runs a statement that gives no rows, then resets it and clears its bindings. 0 or -1. */
int db_run(sqlite3_stmt *stmt, struct trouble *t);

/* Runs a whole script of statements without values. 0 or -1. */
int db_script(sqlite3 *db, const char *sql, struct trouble *t);

/*
 * Binds by position, from 1; UNKNOWN and NULL pointers become NULL. Bytes are borrowed until the next reset of the
 * statement.
 */
void db_bind_int(sqlite3_stmt *stmt, int column, int64_t value);
void db_bind_text(sqlite3_stmt *stmt, int column, const char *text);
void db_bind_blob(sqlite3_stmt *stmt, int column, const void *bytes, size_t size);

/*
 * Binds by name (":run"); a name that the statement does not have is ignored, so that one set of values serves many
 * files.
 */
void db_bind_int_named(sqlite3_stmt *stmt, const char *name, int64_t value);
void db_bind_text_named(sqlite3_stmt *stmt, const char *name, const char *text);

/* NULL becomes UNKNOWN. */
int64_t db_int(sqlite3_stmt *stmt, int column);
/* NULL becomes NULL; the caller frees. */
char *db_text_dup(sqlite3_stmt *stmt, int column);

/* Fills t with what SQLite says of its last error on this connection. Always -1. */
int db_trouble(sqlite3 *db, struct trouble *t, const char *doing);

/* BEGIN IMMEDIATE, COMMIT, ROLLBACK. */
int db_begin(sqlite3 *db, struct trouble *t);
int db_commit(sqlite3 *db, struct trouble *t);
void db_rollback(sqlite3 *db);

#endif

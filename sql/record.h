/*
 * record: the virtual tables over the history, read-only, for the program and for the loadable extension.
 *
 *     SELECT offset, ts, key_text(key) FROM record WHERE topic = 'orders' AND partition = 3 AND offset >= 1000 AND
 * offset < 2000;
 *
 * See record.c for the columns of record, vtab_gap.c for those of gap.
 */
#ifndef SQL_RECORD_H
#define SQL_RECORD_H

#include "sql/sqlite.h"

/*
 * Registers the tables record and gap, and the function fencepost_chunks_decoded(): how many chunks they have decoded
 * on this connection. An SQLite result code.
 */
int vtabs_register(sqlite3 *db);

#endif

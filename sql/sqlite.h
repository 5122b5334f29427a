/*
 * sqlite: SQLite's interface, for code that is linked into the program and into the loadable extension alike. In the
 * extension every call goes through the table that the host hands to sqlite3_fencepost_init (sql/extension.c).
 */
#ifndef SQL_SQLITE_H
#define SQL_SQLITE_H

#ifdef FENCEPOST_EXTENSION
#include <sqlite3ext.h>
extern const sqlite3_api_routines *sqlite3_api; /* SQLITE_EXTENSION_INIT3 */
#else
#include <sqlite3.h>
#endif

#endif

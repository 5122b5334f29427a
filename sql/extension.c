/*
 * extension: what fencepost brings to any SQLite shell.
 *
 *     sqlite3 -readonly fencepost.db
 *     sqlite> .load ./fencepost
 *     sqlite> SELECT partition, count(*) FROM record WHERE topic = 'orders' GROUP BY partition;
 *
 * The tables record and gap (sql/record.c, sql/vtab_gap.c) and the functions (sql/functions.h). Nothing is written.
 */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include "sql/functions.h"
#include "sql/record.h"

/* SQLite derives the name from that of the file. */
__attribute__((visibility("default"))) int sqlite3_fencepost_init(sqlite3 *db, char **error,
								  const sqlite3_api_routines *api);

int sqlite3_fencepost_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	int rc;

	(void)error;
	SQLITE_EXTENSION_INIT2(api);
	rc = functions_register(db);
	return rc == SQLITE_OK ? vtabs_register(db) : rc;
}

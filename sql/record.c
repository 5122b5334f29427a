/* record: the virtual tables over the history. */
#include "sql/record.h"

int vtabs_register(sqlite3 *db)
{
	(void)db;
	return SQLITE_OK;
}

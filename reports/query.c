/* query: fencepost sql and fencepost runs. */
#include "reports/reports.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "reports/rows.h"
#include "reports/summary.h"
#include "reports/words.h"
#include "sql/db.h"
#include "sql/keytext.h"
#include "sql/mem.h"
#include "sql_data.h"

/*
 * --- what a query may do --------------------------------------------------------------------------------------------

 */

/* Pragmas that only tell. */
static bool pragma_tells(const char *name)
{
	static const char *const names[] = { "table_list",    "table_info",      "table_xinfo",   "index_list",
					     "index_info",    "index_xinfo",     "database_list", "function_list",
					     "pragma_list",   "compile_options", "quick_check",   "integrity_check",
					     "user_version",  "application_id",  "page_count",    "page_size",
					     "freelist_count" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (sqlite3_stricmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool pragma_sets(const char *name)
{
	static const char *const names[] = { "user_version", "application_id", "page_size", "page_count" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (sqlite3_stricmp(name, names[i]) == 0)
			return true;
	return false;
}

/*
 * SQLite's authorizer: reading alone is allowed. ATTACH counts as reading to sqlite3_stmt_readonly, so that one asks
 * here.
 */
static int allow_reading(void *context, int action, const char *first, const char *second, const char *db,
			 const char *trigger)
{
	(void)context, (void)db, (void)trigger;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_FUNCTION:
	case SQLITE_RECURSIVE: return SQLITE_OK;
	case SQLITE_INSERT:
	case SQLITE_UPDATE: /* how SQLite takes note of a virtual table's columns; sqlite_master itself cannot be
			       written */
		return strcmp(first, "sqlite_master") == 0 ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_PRAGMA: return pragma_tells(first) && !(second && pragma_sets(first)) ? SQLITE_OK : SQLITE_DENY;
	default: return SQLITE_DENY;
	}
}

/* Whether nothing but blanks, semicolons and comments follows. */
static bool is_blank(sqlite3 *db, const char *tail)
{
	sqlite3_stmt *stmt = NULL;
	bool blank;

	tail += strspn(tail, " \t\r\n;");
	if (!*tail)
		return true;
	blank = sqlite3_prepare_v2(db, tail, -1, &stmt, NULL) == SQLITE_OK && !stmt;
	sqlite3_finalize(stmt);
	return blank;
}

static int prepare_query(sqlite3 *db, const char *sql, sqlite3_stmt **stmt, struct trouble *t)
{
	const char *tail;

	*stmt = NULL;
	if (sqlite3_prepare_v2(db, sql, -1, stmt, &tail) != SQLITE_OK) {
		if (sqlite3_errcode(db) == SQLITE_AUTH)
			return trouble_set(t, "query: only reading is allowed: %s", sqlite3_errmsg(db));
		return trouble_set(t, "query: %s", sqlite3_errmsg(db));
	}
	if (!*stmt)
		return trouble_set(t, "query: there is none");
	if (!is_blank(db, tail) || !sqlite3_stmt_readonly(*stmt)) {
		trouble_set(t,
			    is_blank(db, tail) ? "query: only reading is allowed" : "query: one statement at a time");
		sqlite3_finalize(*stmt);
		*stmt = NULL;
		return -1;
	}
	return 0;
}

/*
 * --- text -----------------------------------------------------------------------------------------------------------

 */

static void print_safe(const char *text, size_t length, FILE *out)
{
	char *safe = xalloc(KEYTEXT_ROOM(length));

	fwrite(safe, 1, keytext_write(text, length, safe), out);
	free(safe);
}

/* x'6b31'; the caller frees. */
static char *blob_text(sqlite3_stmt *stmt, int column)
{
	const void *bytes = sqlite3_column_blob(stmt, column);
	size_t size = (size_t)sqlite3_column_bytes(stmt, column);
	char *text = xalloc(KEYHEX_ROOM(size) + 3);

	memcpy(text, "x'", 2);
	memcpy(text + 2 + keyhex_write(bytes, size, text + 2), "'", 2);
	return text;
}

/* As SQLite itself writes it, in any locale. */
static void print_real(double real, FILE *out)
{
	char text[64];

	sqlite3_snprintf(sizeof(text), text, "%!.15g", real);
	fputs(text, out);
}

static void print_cell(sqlite3_stmt *stmt, int column, FILE *out)
{
	char *blob;

	switch (sqlite3_column_type(stmt, column)) {
	case SQLITE_NULL: fputs("NULL", out); break;
	case SQLITE_INTEGER: fprintf(out, "%" PRId64, (int64_t)sqlite3_column_int64(stmt, column)); break;
	case SQLITE_FLOAT: print_real(sqlite3_column_double(stmt, column), out); break;
	case SQLITE_BLOB:
		blob = blob_text(stmt, column);
		fputs(blob, out);
		free(blob);
		break;
	default:
		print_safe((const char *)sqlite3_column_text(stmt, column), (size_t)sqlite3_column_bytes(stmt, column),
			   out);
	}
}

static void print_row(sqlite3_stmt *stmt, FILE *out)
{
	for (int i = 0; i < sqlite3_column_count(stmt); i++) {
		if (i)
			fputc('\t', out);
		print_cell(stmt, i, out);
	}
	fputc('\n', out);
}

static void print_header(sqlite3_stmt *stmt, FILE *out)
{
	for (int i = 0; i < sqlite3_column_count(stmt); i++) {
		const char *name = sqlite3_column_name(stmt, i);

		if (i)
			fputc('\t', out);
		print_safe(name, strlen(name), out);
	}
	fputc('\n', out);
}

/*
 * --- json -----------------------------------------------------------------------------------------------------------

 */

static json_t *cell_value(sqlite3_stmt *stmt, int column)
{
	json_t *value;
	char *blob;

	if (sqlite3_column_type(stmt, column) != SQLITE_BLOB)
		return rows_value(stmt, column);
	blob = blob_text(stmt, column);
	value = json_string(blob);
	free(blob);
	return value;
}

/* Two columns of one name are two fields: name, name:2. */
static char *field_name(const json_t *object, const char *name)
{
	char *field = xstrdup(name);

	for (int i = 2; json_object_get(object, field); i++) {
		free(field);
		field = xprintf("%s:%d", name, i);
	}
	return field;
}

static void print_object(sqlite3_stmt *stmt, FILE *out)
{
	json_t *object = json_object();

	for (int i = 0; i < sqlite3_column_count(stmt); i++) {
		char *name = field_name(object, sqlite3_column_name(stmt, i));

		json_put(object, name, cell_value(stmt, i));
		free(name);
	}
	json_dumpf(object, out, ROWS_JSON);
	fputc('\n', out);
	json_decref(object);
}

/*
 * --- entries --------------------------------------------------------------------------------------------------------

 */

static int print_rows(const struct run *run, sqlite3_stmt *stmt, bool json, FILE *out, struct trouble *t)
{
	int more;

	if (!json && sqlite3_column_count(stmt))
		print_header(stmt, out);
	while ((more = db_step(stmt, t)) > 0) {
		if (run_stopped(run))
			return trouble_set(t, "query: interrupted");
		if (json)
			print_object(stmt, out);
		else
			print_row(stmt, out);
		if (ferror(out))
			break;
	}
	return more < 0 ? -1 : 0;
}

int reports_query(const struct run *run, sqlite3 *db, const char *sql, bool json, FILE *out, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int result = -1;

	sqlite3_set_authorizer(db, allow_reading, NULL);
	if (prepare_query(db, sql, &stmt, t) == 0)
		result = print_rows(run, stmt, json, out, t);
	sqlite3_finalize(stmt);
	sqlite3_set_authorizer(db, NULL, NULL);
	return result;
}

/* A cell of the table of runs, padded. */
static void print_padded(FILE *out, int width, const char *text)
{
	char *safe = words_safe(text ? text : "unknown");

	fprintf(out, "%-*s", width, safe);
	free(safe);
}

static void print_run(const json_t *run, FILE *out)
{
	int64_t us = json_int(run, "duration_us");
	const char *started = json_text(run, "started");
	char duration[WORDS_ROOM];

	if (us == UNKNOWN)
		snprintf(duration, sizeof(duration), "unknown");
	else
		snprintf(duration, sizeof(duration), "%" PRId64 ".%" PRId64 " s", us / 1000000, us % 1000000 / 100000);
	fprintf(out, "%5" PRId64 "  %.19sZ  %10s  ", json_int(run, "run"), started, duration);
	print_padded(out, 8, json_text(run, "command"));
	print_padded(out, 10, json_text(run, "reached"));
	print_padded(out, 12, json_text(run, "status") ? json_text(run, "status") : "none");
	fprintf(out, "%8" PRId64 "  %8" PRId64 "  %8" PRId64 "\n", json_int(run, "error"), json_int(run, "warning"),
		json_int(run, "info"));
}

/* A run that has no checks yet, and should have none, has no status. */
static int put_status(sqlite3 *db, json_t *row, struct trouble *t)
{
	bool judged = json_flag(row, "judged"), findings = json_int(row, "decisive") > 0;
	int complete = judged ? summary_complete(db, json_int(row, "run"), t) : 0;

	if (complete < 0)
		return -1;
	json_object_del(row, "judged");
	json_object_del(row, "decisive");
	json_put(row, "status",
		 !judged ? json_null()
			 : json_string(report_status_word(findings   ? REPORT_FINDINGS
							  : complete ? REPORT_CLEAN
								     : REPORT_INCOMPLETE)));
	json_put(row, "complete", judged ? json_boolean(complete) : json_null());
	return 0;
}

int reports_runs(const struct run *run, sqlite3 *db, bool json, FILE *out, struct trouble *t)
{
	const struct row_keys keys = { .run = UNKNOWN };
	json_t *rows = rows_list(db, sql_reports_runs, &keys, t), *row;
	size_t i;

	(void)run;
	if (!rows)
		return -1;
	if (!json)
		fprintf(out, "%5s  %-20s  %10s  %-8s%-10s%-12s%8s  %8s  %8s\n", "run", "started", "duration", "command",
			"reached", "status", "error", "warning", "info");
	json_array_foreach(rows, i, row)
	{
		if (put_status(db, row, t) < 0) {
			json_decref(rows);
			return -1;
		}
		if (json) {
			json_dumpf(row, out, ROWS_JSON);
			fputc('\n', out);
		} else {
			print_run(row, out);
		}
	}
	json_decref(rows);
	return 0;
}

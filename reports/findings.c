/* findings: lines of JSON, and CSV. */
#include "reports/findings.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/rows.h"
#include "reports/words.h"
#include "sql/db.h"
#include "sql_data.h"

/* The columns of findings_of.sql that are the fields of a finding; the last one after them is for CSV alone. */
enum { FIELDS = 20 };

/* The columns of the CSV: field of the finding, or of its row. */
static const char *const columns[] = {
	"run",     "id",        "check",  "severity", "pipeline", "topic", "partition", "offset",   "key_text",
	"key_hex", "redis_key", "stream", "group",    "consumer", "entry", "detail",    "evidence", "remedy",
	"scope",
};

enum { COLUMNS = sizeof(columns) / sizeof(*columns) };

/*
 * --- lines of JSON --------------------------------------------------------------------------------------------------

 */

static void write_line(struct outfile *jsonl, const json_t *finding)
{
	outfile_json(jsonl, finding, ROWS_JSON);
	outfile_text(jsonl, "\n");
}

/*
 * --- CSV ------------------------------------------------------------------------------------------------------------

 */

static void write_cell(struct outfile *csv, const char *text)
{
	char *safe = words_safe(text);
	bool guard = *safe && strchr("=+-@'", *safe);
	bool quote = strpbrk(safe, ",\"") || *safe == ' ' || (*safe && safe[strlen(safe) - 1] == ' ');

	outfile_text(csv, quote ? "\"" : "");
	outfile_text(csv, guard ? "'" : "");
	for (const char *at = safe, *end; *at; at = end) {
		end = at + (*at == '"');
		end += strcspn(end, "\"");
		if (*at == '"')
			outfile_text(csv, "\"");
		outfile_write(csv, at, (size_t)(end - at));
	}
	outfile_text(csv, quote ? "\"" : "");
	free(safe);
}

static void write_value(struct outfile *csv, const json_t *value)
{
	char *text;

	if (json_is_integer(value)) {
		outfile_format(csv, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	} else if (json_is_string(value)) {
		write_cell(csv, json_string_value(value));
	} else if (json_is_object(value)) {
		text = json_dumps(value, ROWS_JSON);
		write_cell(csv, text ? text : "");
		free(text);
	}
}

static void write_row(struct outfile *csv, const json_t *finding, json_t *key_text)
{
	for (int i = 0; i < COLUMNS; i++) {
		outfile_text(csv, i ? "," : "");
		write_value(csv, strcmp(columns[i], "key_text") ? json_object_get(finding, columns[i]) : key_text);
	}
	outfile_text(csv, "\r\n");
}

static void write_header(struct outfile *csv)
{
	for (int i = 0; i < COLUMNS; i++)
		outfile_format(csv, "%s%s", i ? "," : "", columns[i]);
	outfile_text(csv, "\r\n");
}

/*
 * --- all ------------------------------------------------------------------------------------------------------------

 */

static void write_finding(sqlite3_stmt *stmt, struct outfile *jsonl, struct outfile *csv)
{
	json_t *finding = rows_object(stmt, FIELDS + 1);
	json_t *key_text = json_incref(json_object_get(finding, "key_text"));

	json_object_del(finding, "key_text");
	write_line(jsonl, finding);
	write_row(csv, finding, key_text);
	json_decref(key_text);
	json_decref(finding);
}

/* The findings of one check and pipeline. The index must hold as many as the check's result says. */
static int write_list(sqlite3 *db, const struct row_keys *keys, int64_t kept, struct outfile *const files[2],
		      struct trouble *t)
{
	sqlite3_stmt *stmt;
	int64_t count = 0;
	int more;

	if (rows_prepare(db, sql_reports_findings_of, keys, &stmt, t) < 0)
		return -1;
	while ((more = db_step(stmt, t)) > 0) {
		write_finding(stmt, files[0], files[1]);
		count++;
	}
	sqlite3_finalize(stmt);
	if (more == 0 && count != kept)
		return trouble_set(t, "findings of %s in %s: the index holds %lld of %lld", keys->check, keys->pipeline,
				   (long long)count, (long long)kept);
	return more;
}

int findings_write(sqlite3 *db, int64_t run, struct outfile *jsonl, struct outfile *csv, struct trouble *t)
{
	struct row_keys keys = { .run = run };
	json_t *lists = rows_list(db, sql_reports_finding_lists, &keys, t), *list;
	int result = lists ? 0 : -1;
	size_t i;

	write_header(csv);
	json_array_foreach(lists, i, list)
	{
		keys.check = json_text(list, "name");
		keys.pipeline = json_text(list, "pipeline");
		result = write_list(db, &keys, json_int(list, "kept"), (struct outfile *[]){ jsonl, csv }, t);
		if (result < 0)
			break;
	}
	json_decref(lists);
	return result;
}

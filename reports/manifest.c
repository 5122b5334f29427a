/* manifest: hashes of a report's files, and of the manifest before. */
#include "reports/manifest.h"

#include "reports/rows.h"
#include "sql/db.h"
#include "sql_data.h"

/* {"run", "manifest_sha256"}, or null where no report came before. NULL with trouble. */
static json_t *find_previous(sqlite3 *db, int64_t run, struct trouble *t)
{
	const struct row_keys keys = { .run = run };
	json_t *row, *previous;
	int found = rows_one(db, sql_reports_report_of, &keys, &row, t);

	if (found == 0)
		found = rows_one(db, sql_reports_report_before, &keys, &row, t);
	if (found < 0)
		return NULL;
	if (!json_text(row, "previous_sha256")) {
		json_decref(row);
		return json_null();
	}
	previous = json_object();
	json_put(previous, "run", json_integer(json_int(row, "previous_run")));
	json_put(previous, "manifest_sha256", json_string(json_text(row, "previous_sha256")));
	json_decref(row);
	return previous;
}

json_t *manifest_new(sqlite3 *db, const json_t *summary, struct trouble *t)
{
	json_t *previous = find_previous(db, json_int(summary, "run"), t), *manifest;

	if (!previous)
		return NULL;
	manifest = json_object();
	json_put(manifest, "schema", json_integer(1));
	json_put(manifest, "run", json_integer(json_int(summary, "run")));
	json_put(manifest, "started", json_incref(json_object_get(json_object_get(summary, "times"), "started")));
	json_put(manifest, "tool", json_incref(json_object_get(summary, "tool")));
	json_put(manifest, "config", json_incref(json_object_get(summary, "config")));
	json_put(manifest, "previous", previous);
	json_put(manifest, "files", json_array());
	return manifest;
}

void manifest_add(json_t *manifest, const char *name, const struct outfile_sum *sum)
{
	json_t *file = json_object();

	json_put(file, "name", json_string(name));
	json_put(file, "bytes", json_integer(sum->bytes));
	json_put(file, "sha256", json_string(sum->sha256));
	json_put(file, "content_bytes", json_integer(sum->content_bytes));
	json_put(file, "content_sha256", json_string(sum->content_sha256));
	json_add(json_object_get(manifest, "files"), file);
}

int manifest_remember(const struct run *run, sqlite3 *db, const json_t *manifest, const char *sha256,
		      const char *directory, struct trouble *t)
{
	const json_t *previous = json_object_get(manifest, "previous");
	sqlite3_stmt *stmt;
	int result;

	if (sqlite3_db_readonly(db, "main") == 1)
		return 0;
	if (db_prepare(db, sql_reports_report_add, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, run->id);
	db_bind_text(stmt, 2, sha256);
	db_bind_int(stmt, 3, json_int(previous, "run"));
	db_bind_text(stmt, 4, json_text(previous, "manifest_sha256"));
	db_bind_text(stmt, 5, directory);
	db_bind_int(stmt, 6, run_now_us(run));
	result = db_run(stmt, t);
	sqlite3_finalize(stmt);
	return result;
}

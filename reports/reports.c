/* reports: the entry of the stage; the order in which a report is written. */
#include "reports/reports.h"

#include <stdlib.h>
#include <string.h>

#include "reports/directory.h"
#include "reports/findings.h"
#include "reports/manifest.h"
#include "reports/metrics.h"
#include "reports/outfile.h"
#include "reports/rows.h"
#include "reports/summary.h"
#include "reports/text.h"
#include "sql/mem.h"
#include "sql_data.h"

static struct outfile *open_in(const struct directory *d, const char *name, enum outfile_form form, struct trouble *t)
{
	char *path = xprintf("%s/%s", d->temporary, name);
	struct outfile *out = outfile_open(path, form, t);

	free(path);
	return out;
}

/*
 * --- files ----------------------------------------------------------------------------------------------------------

 */

static int write_json(const struct directory *d, const char *name, const json_t *value, struct outfile_sum *sum,
		      struct trouble *t)
{
	struct outfile *out = open_in(d, name, OUTFILE_PLAIN, t);

	if (!out)
		return -1;
	outfile_json(out, value, SUMMARY_JSON);
	outfile_text(out, "\n");
	return outfile_commit(out, sum, t);
}

static int write_summary(const struct directory *d, const json_t *summary, json_t *manifest, struct trouble *t)
{
	struct outfile_sum sum;

	if (write_json(d, "summary.json", summary, &sum, t) < 0)
		return -1;
	manifest_add(manifest, "summary.json", &sum);
	return 0;
}

static int write_findings(sqlite3 *db, const struct directory *d, json_t *manifest, struct trouble *t)
{
	int64_t run = json_int(manifest, "run");
	struct outfile *jsonl = open_in(d, "findings.jsonl.zst", OUTFILE_ZSTD, t);
	struct outfile *csv = jsonl ? open_in(d, "findings.csv.zst", OUTFILE_ZSTD, t) : NULL;
	struct outfile_sum sums[2];

	if (!csv || findings_write(db, run, jsonl, csv, t) < 0) {
		outfile_abandon(jsonl);
		outfile_abandon(csv);
		return -1;
	}
	if (outfile_commit(jsonl, &sums[0], t) < 0) {
		outfile_abandon(csv);
		return -1;
	}
	if (outfile_commit(csv, &sums[1], t) < 0)
		return -1;
	manifest_add(manifest, "findings.jsonl.zst", &sums[0]);
	manifest_add(manifest, "findings.csv.zst", &sums[1]);
	return 0;
}

static int write_metrics(sqlite3 *db, const struct directory *d, const json_t *summary, json_t *manifest,
			 struct trouble *t)
{
	struct outfile *out = open_in(d, "metrics.prom", OUTFILE_PLAIN, t);
	struct outfile_sum sum;

	if (!out)
		return -1;
	if (metrics_write(db, summary, out, t) < 0) {
		outfile_abandon(out);
		return -1;
	}
	if (outfile_commit(out, &sum, t) < 0)
		return -1;
	manifest_add(manifest, "metrics.prom", &sum);
	return 0;
}

/* A report in the making. */
struct report {
	struct directory directory;
	json_t *summary, *manifest;
	struct outfile_sum manifest_sum;
};

/* Fills the temporary directory, the manifest last. */
static int write_files(sqlite3 *db, struct report *r, struct trouble *t)
{
	if (write_summary(&r->directory, r->summary, r->manifest, t) < 0 ||
	    write_findings(db, &r->directory, r->manifest, t) < 0 ||
	    write_metrics(db, &r->directory, r->summary, r->manifest, t) < 0)
		return -1;
	return write_json(&r->directory, "manifest.json", r->manifest, &r->manifest_sum, t);
}

static int write_directory(const struct run *run, sqlite3 *db, const char *dir, struct report *r, struct trouble *t)
{
	const char *started = json_text(json_object_get(r->summary, "times"), "started");

	if (directory_begin(&r->directory, dir, run->id, started, t) < 0)
		return -1;
	if (write_files(db, r, t) < 0) {
		directory_abandon(&r->directory);
		return -1;
	}
	return directory_commit(run, &r->directory, t);
}

int reports_write(const struct run *run, sqlite3 *db, const char *dir, struct report_result *result, struct trouble *t)
{
	struct report r = { .summary = summary_build(db, run->id, t) };
	int written = -1;

	if (r.summary)
		r.manifest = manifest_new(db, r.summary, t);
	if (r.manifest && write_directory(run, db, dir, &r, t) == 0) {
		*result = summary_result(r.summary);
		written = manifest_remember(run, db, r.manifest, r.manifest_sum.sha256, dir, t);
		if (written < 0)
			trouble_wrap(t, "the report is written, but the index cannot remember it");
	}
	json_decref(r.manifest);
	json_decref(r.summary);
	return written < 0 ? trouble_wrap(t, "report of run %lld", (long long)run->id) : 0;
}

int reports_status(const struct run *run, sqlite3 *db, struct report_result *result, struct trouble *t)
{
	json_t *summary = summary_build(db, run->id, t);

	if (!summary)
		return -1;
	*result = summary_result(summary);
	json_decref(summary);
	return 0;
}

/* As text, with the commands that look into the run's report where one was written. */
static int print_text(sqlite3 *db, const json_t *summary, FILE *out, struct trouble *t)
{
	const struct row_keys keys = { .run = json_int(summary, "run") };
	json_t *report;
	int result;

	if (rows_one(db, sql_reports_report_of, &keys, &report, t) < 0)
		return -1;
	result = text_print(db, summary, json_text(report, "directory"), out, t);
	json_decref(report);
	return result;
}

static void print_json(const json_t *summary, FILE *out)
{
	json_dumpf(summary, out, SUMMARY_JSON);
	fputc('\n', out);
}

int reports_print(const struct run *run, sqlite3 *db, bool json, FILE *out, struct trouble *t)
{
	json_t *summary = summary_build(db, run->id, t);
	int result = 0;

	if (!summary)
		return -1;
	if (json)
		print_json(summary, out);
	else
		result = print_text(db, summary, out, t);
	json_decref(summary);
	return result;
}

/* Trouble that the run itself told; that it has no checks is none, that there was nothing to look at is some. */
static bool missed_something(const json_t *summary)
{
	const json_t *trouble;
	size_t i, first = 0;

	json_array_foreach(json_object_get(summary, "trouble"), i, trouble)
	{
		if (strcmp(json_text(trouble, "stage"), "run") != 0)
			return true;
	}
	return !summary_block(summary, &first);
}

int reports_looked(const struct run *run, sqlite3 *db, bool json, FILE *out, struct trouble *t)
{
	json_t *summary = summary_build(db, run->id, t);
	bool missed;

	if (!summary)
		return -1;
	missed = missed_something(summary);
	if (json)
		print_json(summary, out);
	else
		text_print_looked(summary, out);
	json_decref(summary);
	return !missed;
}

/* What is on disk and in the index may be whole; what the run was to do was not done. */
static void take_back_complete(json_t *summary)
{
	json_put(summary, "complete", json_false());
	if (summary_result(summary).status == REPORT_CLEAN)
		json_put(summary, "status", json_string(report_status_word(REPORT_INCOMPLETE)));
}

int reports_metrics(const struct run *run, sqlite3 *db, bool failed, const char *file, struct trouble *t)
{
	json_t *summary = summary_build(db, run->id, t);
	struct outfile *out = summary ? outfile_open(file, OUTFILE_PLAIN, t) : NULL;
	int result = -1;

	if (summary && failed)
		take_back_complete(summary);
	if (out && metrics_write(db, summary, out, t) == 0)
		result = outfile_commit(out, NULL, t);
	else
		outfile_abandon(out);
	json_decref(summary);
	return result;
}

int reports_metrics_failed(const struct run *run, const char *config, const char *file, struct trouble *t)
{
	struct outfile *out = outfile_open(file, OUTFILE_PLAIN, t);

	(void)run;
	if (!out)
		return -1;
	metrics_write_failed(config ? config : "", out);
	return outfile_commit(out, NULL, t);
}

/* metrics: a summary in Prometheus' text format. */
#include "reports/metrics.h"

#include <inttypes.h>
#include <string.h>

#include "reports/reports.h"
#include "reports/rows.h"
#include "reports/summary.h"
#include "sql/db.h"
#include "sql_data.h"

struct label {
	const char *name, *value;
};

/* Label values escape backslash, quote and newline, and nothing else. */
static void write_value(struct outfile *out, const char *value)
{
	for (; *value; value++) {
		if (*value == '\n')
			outfile_text(out, "\\n");
		else if (*value == '"' || *value == '\\')
			outfile_format(out, "\\%c", *value);
		else
			outfile_write(out, value, 1);
	}
}

/* metric{name="value",...}, up to the space before the number. labels end with a NULL name. */
static void write_name(struct outfile *out, const char *metric, const struct label *labels)
{
	outfile_text(out, metric);
	for (const struct label *label = labels; label->name; label++) {
		outfile_format(out, "%s%s=\"", label == labels ? "{" : ",", label->name);
		write_value(out, label->value ? label->value : "");
		outfile_text(out, "\"");
	}
	outfile_text(out, "} ");
}

static void write_number(struct outfile *out, const char *metric, const struct label *labels, int64_t value)
{
	write_name(out, metric, labels);
	outfile_format(out, "%" PRId64 "\n", value);
}

/* Microseconds as seconds; value >= 0. */
static void write_seconds(struct outfile *out, const char *metric, const struct label *labels, int64_t us)
{
	write_name(out, metric, labels);
	outfile_format(out, "%" PRId64 ".%06" PRId64 "\n", us / 1000000, us % 1000000);
}

static void write_head(struct outfile *out, const char *metric, const char *help)
{
	outfile_format(out, "# HELP %s %s\n# TYPE %s gauge\n", metric, help, metric);
}

static void write_status(struct outfile *out, const char *config, const char *status)
{
	static const char metric[] = "fencepost_run_status";

	write_head(out, metric, "How the last run ended: 1 for its status, 0 for the others.");
	for (int s = REPORT_CLEAN; s <= REPORT_INCOMPLETE; s++) {
		const char *word = report_status_word((enum report_status)s);

		write_number(out, metric, (struct label[]){ { "config", config }, { "status", word }, { 0 } },
			     strcmp(word, status) == 0);
	}
}

static void write_complete(struct outfile *out, const char *config, bool complete)
{
	static const char metric[] = "fencepost_run_complete";

	write_head(out, metric, "1 where the last run could look at everything it should.");
	write_number(out, metric, (struct label[]){ { "config", config }, { 0 } }, complete);
}

void metrics_write_failed(const char *config, struct outfile *out)
{
	write_status(out, config, report_status_word(REPORT_INCOMPLETE));
	write_complete(out, config, false);
}

/*
 * --- checks ---------------------------------------------------------------------------------------------------------

 */

typedef void write_check(struct outfile *out, const char *metric, struct label *labels, const json_t *check);

static void write_findings(struct outfile *out, const char *metric, struct label *labels, const json_t *check)
{
	labels[3] = (struct label){ "severity", json_text(check, "severity") };
	write_number(out, metric, labels, json_int(check, "findings"));
}

static void write_examined(struct outfile *out, const char *metric, struct label *labels, const json_t *check)
{
	write_number(out, metric, labels, json_int(check, "examined"));
}

static void write_unverifiable(struct outfile *out, const char *metric, struct label *labels, const json_t *check)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(check, "unverifiable"), i, row)
	{
		labels[3] = (struct label){ "reason", json_text(row, "reason") };
		write_number(out, metric, labels, json_int(row, "subjects"));
	}
}

static void write_check_status(struct outfile *out, const char *metric, struct label *labels, const json_t *check)
{
	labels[3] = (struct label){ "status", json_text(check, "status") };
	write_number(out, metric, labels, 1);
}

static void write_checks(struct outfile *out, const json_t *summary, const char *metric, write_check *write)
{
	const json_t *block, *check;
	size_t at = 0, i;

	while ((block = summary_block(summary, &at))) {
		json_array_foreach(json_object_get(block, "checks"), i, check)
		{
			struct label labels[5] = {
				{ "config", json_text(json_object_get(summary, "config"), "name") },
				{ "pipeline", json_text(block, "scope") },
				{ "check", json_text(check, "check") },
			};

			write(out, metric, labels, check);
		}
	}
}

static void write_all_checks(struct outfile *out, const json_t *summary)
{
	write_head(out, "fencepost_findings", "Findings of a check; exact, also where the report keeps fewer.");
	write_checks(out, summary, "fencepost_findings", write_findings);
	write_head(out, "fencepost_examined", "Subjects that a check examined.");
	write_checks(out, summary, "fencepost_examined", write_examined);
	write_head(out, "fencepost_unverifiable", "Subjects that a check met and could not decide.");
	write_checks(out, summary, "fencepost_unverifiable", write_unverifiable);
	write_head(out, "fencepost_check_status", "1 for the status of a check: pass, fail, empty, error or skip.");
	write_checks(out, summary, "fencepost_check_status", write_check_status);
}

/*
 * --- the run --------------------------------------------------------------------------------------------------------

 */

static void write_durations(struct outfile *out, const json_t *summary, const char *config)
{
	static const char metric[] = "fencepost_duration_seconds";
	const json_t *stage;
	size_t i;

	write_head(out, metric, "How long a stage of the last run took.");
	json_array_foreach(json_object_get(json_object_get(summary, "times"), "stages"), i, stage) write_seconds(
		out, metric, (struct label[]){ { "config", config }, { "stage", json_text(stage, "stage") }, { 0 } },
		json_int(stage, "duration_us"));
}

/*
 * When the newest complete run up to this one, or before it, had looked at everything: 1 with *us, 0 where there is
 * none, -1.
 */
static int last_complete(sqlite3 *db, int64_t run, bool itself, int64_t *us, struct trouble *t)
{
	const struct row_keys keys = { .run = run };
	sqlite3_stmt *stmt;
	int more, complete = 0;

	if (rows_prepare(db, sql_reports_checked_runs, &keys, &stmt, t) < 0)
		return -1;
	while ((more = db_step(stmt, t)) > 0) {
		if (db_int(stmt, 0) == run && !itself)
			continue;
		*us = db_int(stmt, 1);
		complete = summary_complete(db, db_int(stmt, 0), t);
		if (complete)
			break;
	}
	sqlite3_finalize(stmt);
	return more < 0 ? -1 : complete;
}

int metrics_write(sqlite3 *db, const json_t *summary, struct outfile *out, struct trouble *t)
{
	static const char last[] = "fencepost_last_complete_timestamp_seconds";
	const char *config = json_text(json_object_get(summary, "config"), "name");
	int64_t us = 0;
	int found = last_complete(db, json_int(summary, "run"), json_flag(summary, "complete"), &us, t);

	if (found < 0)
		return trouble_wrap(t, "metrics");
	write_head(out, last, "When the newest run that could look at everything had done so. Absent: none ever did.");
	if (found)
		write_seconds(out, last, (struct label[]){ { "config", config }, { 0 } }, us);
	write_status(out, config, json_text(summary, "status"));
	write_complete(out, config, json_flag(summary, "complete"));
	write_all_checks(out, summary);
	write_durations(out, summary, config);
	return 0;
}

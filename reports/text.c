/* text: a summary for a person. */
#include "reports/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "reports/rows.h"
#include "reports/summary.h"
#include "reports/text_looked.h"
#include "reports/words.h"
#include "sql/db.h"
#include "sql/mem.h"
#include "sql/run.h"
#include "sql_data.h"

enum { SHOWN = 5 };

/* What the printing of one block needs. */
struct block {
	sqlite3 *db;
	const json_t *summary, *pipeline; /* pipeline: or another block of the summary */
	const char *directory;
	FILE *out;
};

/*
 * --- findings -------------------------------------------------------------------------------------------------------

 */

static bool is_server(const json_t *block)
{
	return strncmp(json_text(block, "scope"), "redis/", strlen("redis/")) == 0;
}

static bool is_fence_check(const char *check)
{
	return strncmp(check, "fence-", 6) == 0;
}

/* "1,284 of 48,112 keys written since 02:30:00Z (all looked at)" */
static void print_count(const struct block *b, const json_t *check)
{
	char findings[WORDS_ROOM], examined[WORDS_ROOM];

	fprintf(b->out, "%s %s of %s", json_text(check, "check"), words_number(json_int(check, "findings"), findings),
		words_number(json_int(check, "examined"), examined));
	if (is_fence_check(json_text(check, "check"))) {
		fputs(" keys", b->out);
		text_print_scope(b->summary, b->pipeline, b->out);
	} else {
		fputs(" examined", b->out);
	}
	fputc('\n', b->out);
}

/* A few findings of a check, what to do about them, and where the others are. */
static int print_findings(const struct block *b, const json_t *check, struct trouble *t)
{
	const struct row_keys keys = {
		.run = json_int(b->summary, "run"),
		.pipeline = json_text(b->pipeline, "scope"),
		.check = json_text(check, "check"),
	};
	char *remedy = NULL, number[WORDS_ROOM];
	sqlite3_stmt *stmt;
	int64_t shown = 0, findings = json_int(check, "findings");
	int more = 0;

	if (rows_prepare(b->db, sql_reports_findings_of, &keys, &stmt, t) < 0)
		return -1;
	while (shown < SHOWN && (more = db_step(stmt, t)) > 0) {
		json_t *finding = rows_object(stmt, sqlite3_column_count(stmt));

		text_print_line(b->out, "found", json_text(finding, "detail"));
		if (!remedy)
			remedy = xstrdup(json_text(finding, "remedy"));
		json_decref(finding);
		shown++;
	}
	sqlite3_finalize(stmt);
	if (findings > shown)
		fprintf(b->out, "          and %s more\n", words_number(findings - shown, number));
	if (remedy && *remedy)
		text_print_line(b->out, "remedy", remedy);
	free(remedy);
	return more < 0 ? -1 : 0;
}

/*
 * The checks whose findings decide the status, each with a few findings; indent: the width of the block's first words.

 */
static int print_failed(const struct block *b, int indent, struct trouble *t)
{
	const json_t *check;
	bool first = true;
	size_t i;

	json_array_foreach(json_object_get(b->pipeline, "checks"), i, check)
	{
		if (json_int(check, "findings") <= 0 || !summary_counts(b->summary, json_text(check, "severity")))
			continue;
		if (!first)
			fprintf(b->out, "%*s", indent, "");
		first = false;
		print_count(b, check);
		if (print_findings(b, check, t) < 0)
			return -1;
	}
	return 0;
}

/* Findings below fail.on are counted, not shown. */
static void print_notes(const struct block *b)
{
	const json_t *check;
	size_t i;

	json_array_foreach(json_object_get(b->pipeline, "checks"), i, check)
	{
		if (json_int(check, "findings") <= 0 || summary_counts(b->summary, json_text(check, "severity")))
			continue;
		fprintf(b->out, "  note    %s: ", json_text(check, "severity"));
		print_count(b, check);
	}
}

/*
 * --- lost records ---------------------------------------------------------------------------------------------------

 */

/* Sums and extremes over the rows of lost.sql. */
struct lost {
	int64_t records, first_ms, last_ms;
	bool one_topic;
};

static struct lost sum_lost(const json_t *rows)
{
	struct lost lost = { 0, UNKNOWN, UNKNOWN, true };
	const char *topic = json_text(json_array_get(rows, 0), "topic");
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		int64_t records = json_int(row, "records"), first = json_int(row, "first_ms"),
			last = json_int(row, "last_ms");
		const char *other = json_text(row, "topic");

		lost.records += records == UNKNOWN ? 0 : records;
		lost.first_ms =
			first != UNKNOWN && (lost.first_ms == UNKNOWN || first < lost.first_ms) ? first : lost.first_ms;
		lost.last_ms = last > lost.last_ms ? last : lost.last_ms;
		lost.one_topic = lost.one_topic && topic && other && strcmp(topic, other) == 0;
	}
	return lost;
}

/* "  p3 [88120,88671)"; with more than one topic "  orders/3 [88120,88671)" */
static void print_range(const struct block *b, const json_t *row, bool one_topic)
{
	char *topic = words_safe(json_text(row, "topic") ? json_text(row, "topic") : "");

	if (json_int(row, "first") != UNKNOWN && json_int(row, "last") != UNKNOWN)
		fprintf(b->out, "  %s%s%lld [%lld,%lld)", one_topic ? "p" : topic, one_topic ? "" : "/",
			(long long)json_int(row, "partition"), (long long)json_int(row, "first"),
			(long long)json_int(row, "last") + 1);
	free(topic);
}

/* Whether the index keeps every finding that tells of lost records. */
static bool has_all_lost(const struct block *b)
{
	const json_t *check;
	size_t i;

	json_array_foreach(json_object_get(b->pipeline, "checks"), i, check)
	{
		const char *name = json_text(check, "check");

		if ((strcmp(name, "fence-missing") == 0 || strcmp(name, "fence-regressed") == 0) &&
		    json_int(check, "kept") < json_int(check, "findings"))
			return false;
	}
	return true;
}

/* Producers choose record times: some are no time at all, and are shown as the last or first one there is. */
static void print_record_time(const json_t *summary, int64_t ms, FILE *out)
{
	const int64_t most = INT64_MAX / 1000;

	text_print_time(summary, (ms > most ? most : ms < -most ? -most : ms) * 1000, out);
}

/* "2,031 records  p3 [88120,88671)  p7 [41233,42010)  02:58:41Z to 02:58:44Z" */
static void print_lost(const struct block *b, const json_t *rows)
{
	struct lost lost = sum_lost(rows);
	char number[WORDS_ROOM + 24];
	size_t count = json_array_size(rows);

	if (!lost.records)
		return;
	fprintf(b->out, "  lost    %s%s", has_all_lost(b) ? "" : "at least ",
		words_count(lost.records, "record", "records", number));
	for (size_t i = 0; i < count && i < SHOWN; i++)
		print_range(b, json_array_get(rows, i), lost.one_topic);
	if (count > SHOWN)
		fprintf(b->out, "  and %s",
			words_count((int64_t)count - SHOWN, "more partition", "more partitions", number));
	if (lost.first_ms != UNKNOWN && lost.last_ms != UNKNOWN) {
		fputs("  ", b->out);
		print_record_time(b->summary, lost.first_ms, b->out);
		fputs(" to ", b->out);
		print_record_time(b->summary, lost.last_ms, b->out);
	}
	fputc('\n', b->out);
}

static int find_lost(const struct block *b, struct trouble *t)
{
	const struct row_keys keys = { .run = json_int(b->summary, "run"),
				       .pipeline = json_text(b->pipeline, "scope") };
	json_t *rows = rows_list(b->db, sql_reports_lost, &keys, t);

	if (!rows)
		return -1;
	print_lost(b, rows);
	json_decref(rows);
	return 0;
}

/*
 * --- blocks ---------------------------------------------------------------------------------------------------------

 */

/* "21 checks found nothing; 3 had nothing to examine, 2 do not apply" */
static void print_passed(const struct block *b)
{
	int64_t passed = 0, empty = 0, skipped = 0;
	char number[WORDS_ROOM + 24];
	const json_t *check;
	size_t i;

	json_array_foreach(json_object_get(b->pipeline, "checks"), i, check)
	{
		const char *status = json_text(check, "status");

		passed += strcmp(status, "pass") == 0;
		empty += strcmp(status, "empty") == 0;
		skipped += strcmp(status, "skip") == 0;
	}
	fprintf(b->out, "%s found nothing", words_count(passed, "check", "checks", number));
	if (empty)
		fprintf(b->out, "; %s had nothing to examine", words_number(empty, number));
	if (skipped)
		fprintf(b->out, "%s %s not apply", empty ? "," : ";", words_count(skipped, "does", "do", number));
	fputc('\n', b->out);
}

static void print_next(const struct block *b)
{
	char *path, *word;

	if (!b->directory) {
		fprintf(b->out, "  next    fencepost report %lld\n", (long long)json_int(b->summary, "run"));
		return;
	}
	path = xprintf("%s/findings.jsonl.zst", b->directory);
	word = words_shell(path);
	free(path);
	path = words_safe(word);
	fprintf(b->out, "  next    zstdcat %s | jq .\n", path);
	free(word);
	free(path);
}

static int print_block(const struct block *b, struct trouble *t)
{
	bool findings = strcmp(json_text(b->pipeline, "status"), "findings") == 0,
	     complete = json_flag(b->pipeline, "complete");
	char *name = words_safe(json_text(b->pipeline, "scope"));
	int indent = fprintf(b->out, "%s  %s  ", name,
			     findings   ? complete ? "FINDINGS" : "FINDINGS, INCOMPLETE"
			     : complete ? "CLEAN"
					: "INCOMPLETE");

	free(name);
	if (findings && (print_failed(b, indent, t) < 0 || find_lost(b, t) < 0))
		return -1;
	if (!findings && !complete)
		fputs("not everything was looked at, so nothing is claimed; ", b->out);
	if (!findings)
		print_passed(b);
	print_notes(b);
	text_print_trouble(b->summary, json_text(b->pipeline, "scope"), b->out);
	text_print_facts(b->summary, b->pipeline, b->out);
	if (findings)
		print_next(b);
	return 0;
}

/* Trouble that is no block's, where there is no block to hold it. */
static void print_run(const json_t *summary, FILE *out)
{
	fprintf(out, "run %lld  %s\n", (long long)json_int(summary, "run"),
		json_flag(summary, "complete") ? "CLEAN  there was nothing to look at"
					       : "INCOMPLETE  nothing was looked at");
	text_print_trouble(summary, NULL, out);
}

/* A server in order is told of in the blocks of those that use it. */
static bool worth_a_block(const json_t *block)
{
	const json_t *check;
	size_t i;

	if (!is_server(block) || !json_flag(block, "complete"))
		return true;
	json_array_foreach(json_object_get(block, "checks"), i, check)
	{
		if (json_int(check, "findings") > 0)
			return true;
	}
	return false;
}

int text_print(sqlite3 *db, const json_t *summary, const char *directory, FILE *out, struct trouble *t)
{
	const json_t *block;
	size_t at = 0;

	while ((block = summary_block(summary, &at))) {
		const struct block b = { db, summary, block, directory, out };

		if (worth_a_block(block) && print_block(&b, t) < 0)
			return -1;
	}
	if (at == 0)
		print_run(summary, out);
	return 0;
}

void text_print_looked(const json_t *summary, FILE *out)
{
	const json_t *block;
	size_t at = 0;

	while ((block = summary_block(summary, &at))) {
		const char *scope = json_text(block, "scope");
		bool missed = text_trouble_count(summary, scope) > 0;
		char *name = words_safe(scope);

		if (!is_server(block)) {
			fprintf(out, "%s  %s  no check was run\n", name, missed ? "INCOMPLETE" : "LOOKED");
			text_print_trouble(summary, scope, out);
			text_print_facts(summary, block, out);
		}
		free(name);
	}
	if (at == 0)
		print_run(summary, out);
}

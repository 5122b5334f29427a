/* summary: the run as one JSON value. */
#include "reports/summary.h"

#include <string.h>

#include "reports/bound.h"
#include "reports/rows.h"
#include "sql/verdict.h"
#include "sql_data.h"

static const char *const status_words[] = {
	[REPORT_CLEAN] = "clean",
	[REPORT_FINDINGS] = "findings",
	[REPORT_INCOMPLETE] = "incomplete",
};

const char *report_status_word(enum report_status status)
{
	return status_words[status];
}

/* Where a severity stands; one that nobody knows is the gravest. */
static int rank(const char *severity)
{
	static const char *const words[] = { "info", "warning", "error" };

	for (int i = 0; i < 2; i++)
		if (severity && strcmp(severity, words[i]) == 0)
			return i;
	return 2;
}

bool summary_counts(const json_t *summary, const char *severity)
{
	return rank(severity) >= rank(json_text(summary, "fail_on"));
}

/* Puts the list into object; 0, or -1 where there is none because of trouble. */
static int put_list(json_t *object, const char *name, json_t *list)
{
	if (!list)
		return -1;
	json_put(object, name, list);
	return 0;
}

/*
 * --- scopes ---------------------------------------------------------------------------------------------------------

 */

static int put_topics(sqlite3 *db, struct row_keys keys, json_t *pipeline, struct trouble *t)
{
	json_t *topics = rows_list(db, sql_reports_topics, &keys, t), *topic;
	size_t i;

	if (put_list(pipeline, "topics", topics) < 0)
		return -1;
	json_array_foreach(topics, i, topic)
	{
		keys.topic = json_text(topic, "topic");
		keys.role = json_text(topic, "role");
		if (put_list(topic, "horizon", rows_list(db, sql_reports_horizons, &keys, t)) < 0)
			return -1;
	}
	return 0;
}

/* threshold / 2^63 in parts per billion, rounded down; 2^63 - 1 is all. */
static int64_t fraction_ppb(int64_t threshold)
{
	return threshold == INT64_MAX ? 1000000000 : (threshold >> 30) * 1000000000 >> 33;
}

static json_t *int_or_null(int64_t value)
{
	return value == UNKNOWN ? json_null() : json_integer(value);
}

static void finish_stratum(json_t *stratum)
{
	int64_t threshold = json_int(stratum, "threshold"), bad = json_int(stratum, "bad"),
		decided = json_int(stratum, "decided");
	bool bounded = threshold != UNKNOWN && bad != UNKNOWN && !json_flag(stratum, "whole");

	json_put(stratum, "fraction_ppb", int_or_null(threshold == UNKNOWN ? UNKNOWN : fraction_ppb(threshold)));
	json_put(stratum, "bound_95_ppb", int_or_null(bounded ? bound_95_ppb(bad, decided) : UNKNOWN));
}

static int put_sample(sqlite3 *db, struct row_keys keys, json_t *pipeline, struct trouble *t)
{
	json_t *samples = rows_list(db, sql_reports_sample, &keys, t), *sample, *strata, *stratum;
	size_t i, j;

	if (put_list(pipeline, "sample", samples) < 0)
		return -1;
	json_array_foreach(samples, i, sample)
	{
		keys.topic = json_text(sample, "topic");
		strata = rows_list(db, sql_reports_strata, &keys, t);
		if (put_list(sample, "strata", strata) < 0)
			return -1;
		json_array_foreach(strata, j, stratum) finish_stratum(stratum);
	}
	return 0;
}

/* All verdicts in their order, those that were not met as 0; null where nobody counted. */
static int put_verdicts(sqlite3 *db, const struct row_keys *keys, json_t *pipeline, struct trouble *t)
{
	json_t *rows = rows_list(db, sql_reports_verdicts, keys, t), *row, *verdicts;
	size_t i;

	if (!rows)
		return -1;
	verdicts = json_array_size(rows) ? json_object() : json_null();
	for (int v = 0; v < VERDICT_COUNT && json_is_object(verdicts); v++)
		json_put(verdicts, verdict_name((enum verdict)v), json_integer(0));
	json_array_foreach(rows, i, row)
		json_put(verdicts, json_text(row, "verdict"), json_integer(json_int(row, "records")));
	json_decref(rows);
	json_put(pipeline, "verdicts", verdicts);
	return 0;
}

static int put_checks(sqlite3 *db, struct row_keys keys, json_t *pipeline, struct trouble *t)
{
	json_t *checks = rows_list(db, sql_reports_checks, &keys, t), *check;
	size_t i;

	if (put_list(pipeline, "checks", checks) < 0)
		return -1;
	json_array_foreach(checks, i, check)
	{
		keys.check = json_text(check, "check");
		if (put_list(check, "unverifiable", rows_list(db, sql_reports_unverifiable, &keys, t)) < 0)
			return -1;
	}
	return 0;
}

/* Adds the findings of the block's checks to counts, by severity; whether one of them decides the status. */
static bool count_findings(const json_t *summary, const json_t *block, json_t *counts)
{
	const json_t *checks = json_object_get(block, "checks"), *check;
	bool decides = false;
	size_t i;

	json_array_foreach(checks, i, check)
	{
		const char *severity = json_text(check, "severity");
		int64_t findings = json_int(check, "findings");

		json_put(counts, severity, json_integer(json_int(counts, severity) + findings));
		decides = decides || (findings > 0 && summary_counts(summary, severity));
	}
	return decides;
}

static bool has_trouble(const json_t *summary, const char *scope)
{
	const json_t *trouble;
	size_t i;

	json_array_foreach(json_object_get(summary, "trouble"), i, trouble)
	{
		const char *whose = json_text(trouble, "pipeline");

		if (!whose || strcmp(whose, scope) == 0)
			return true;
	}
	return false;
}

static json_t *no_findings(void)
{
	json_t *counts = json_object();

	json_put(counts, "error", json_integer(0));
	json_put(counts, "warning", json_integer(0));
	json_put(counts, "info", json_integer(0));
	return counts;
}

static const char *status_word(bool findings, bool complete)
{
	return report_status_word(findings ? REPORT_FINDINGS : complete ? REPORT_CLEAN : REPORT_INCOMPLETE);
}

static void put_group(json_t *row, json_t *pipeline)
{
	json_t *group = json_object();

	json_put(group, "id", json_incref(json_object_get(row, "group_id")));
	json_put(group, "state", json_incref(json_object_get(row, "group_state")));
	json_put(group, "members", json_incref(json_object_get(row, "group_members")));
	json_put(group, "read", json_incref(json_object_get(row, "group_read")));
	json_put(pipeline, "group", group);
}

static void put_settings(json_t *row, json_t *pipeline)
{
	static const char *const names[] = { "kafka",      "redis",        "key_template", "key_format", "key_part",
					     "mapping",    "mapping_hint", "replica",      "state",
					     "tombstones", "isolation",    "horizon",      "partitioner",
					     "expect_empty" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		json_move(row, names[i], pipeline);
}

static int fill_pipeline(sqlite3 *db, const struct row_keys *keys, json_t *row, json_t *pipeline, struct trouble *t)
{
	put_settings(row, pipeline);
	put_group(row, pipeline);
	if (put_list(pipeline, "servers", rows_list(db, sql_reports_servers, keys, t)) < 0 ||
	    put_topics(db, *keys, pipeline, t) < 0 || put_sample(db, *keys, pipeline, t) < 0)
		return -1;
	return put_verdicts(db, keys, pipeline, t);
}

static int fill_stream(sqlite3 *db, const struct row_keys *keys, json_t *row, json_t *stream, struct trouble *t)
{
	json_t *watch;
	int found = rows_one(db, sql_reports_stream_watch, keys, &watch, t);

	(void)row;
	if (found < 0)
		return -1;
	json_object_update_missing(stream, watch);
	json_decref(watch);
	if (put_list(stream, "servers", rows_list(db, sql_reports_servers, keys, t)) < 0)
		return -1;
	return put_list(stream, "streams", rows_list(db, sql_reports_streams, keys, t));
}

static int fill_server(sqlite3 *db, const struct row_keys *keys, json_t *row, json_t *server, struct trouble *t)
{
	(void)row;
	return put_list(server, "servers", rows_list(db, sql_reports_servers, keys, t));
}

/* What checks speak of, by kind: the list of the summary that holds them, and what they have beside their checks. */
static const struct {
	const char *kind, *list;
	int (*fill)(sqlite3 *, const struct row_keys *, json_t *, json_t *, struct trouble *);
} kinds[] = {
	{ "pipeline", "pipelines", fill_pipeline },
	{ "stream", "streams", fill_stream },
	{ "server", "servers", fill_server },
};

enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static size_t kind_of(const json_t *row)
{
	size_t kind = 0;

	while (strcmp(kinds[kind].kind, json_text(row, "kind")) != 0)
		kind++;
	return kind;
}

/* The block of a row of scopes.sql; NULL with trouble. */
static json_t *build_block(sqlite3 *db, struct row_keys keys, json_t *row, const json_t *summary, struct trouble *t)
{
	json_t *block = json_object(), *counts = no_findings();
	bool complete;

	json_move(row, "name", block);
	json_move(row, "scope", block);
	keys.pipeline = json_text(block, "scope");
	complete = !has_trouble(summary, keys.pipeline);
	json_put(block, "status", json_null()); /* keeps its place */
	json_put(block, "complete", json_boolean(complete));
	json_put(block, "findings", counts);
	if (kinds[kind_of(row)].fill(db, &keys, row, block, t) < 0 || put_checks(db, keys, block, t) < 0) {
		json_decref(block);
		return NULL;
	}
	json_put(block, "status", json_string(status_word(count_findings(summary, block, counts), complete)));
	return block;
}

static int put_blocks(sqlite3 *db, const struct row_keys *keys, json_t *summary, struct trouble *t)
{
	json_t *rows = rows_list(db, sql_reports_scopes, keys, t), *row, *block;
	int result = rows ? 0 : -1;
	size_t i;

	for (size_t kind = 0; kind < KINDS; kind++)
		json_put(summary, kinds[kind].list, json_array());
	json_array_foreach(rows, i, row)
	{
		block = build_block(db, *keys, row, summary, t);
		if (!block) {
			result = -1;
			break;
		}
		json_add(json_object_get(summary, kinds[kind_of(row)].list), block);
	}
	json_decref(rows);
	return result;
}

const json_t *summary_block(const json_t *summary, size_t *at)
{
	size_t left = *at;

	for (size_t kind = 0; kind < KINDS; kind++) {
		const json_t *list = json_object_get(summary, kinds[kind].list);

		if (left < json_array_size(list)) {
			++*at;
			return json_array_get(list, left);
		}
		left -= json_array_size(list);
	}
	return NULL;
}

/*
 * --- the run --------------------------------------------------------------------------------------------------------

 */

static json_t *config_of(json_t *row)
{
	json_t *config = json_object();

	json_put(config, "name", json_incref(json_object_get(row, "config")));
	json_put(config, "sha256", json_incref(json_object_get(row, "config_sha256")));
	return config;
}

static int put_times(sqlite3 *db, const struct row_keys *keys, json_t *row, json_t *summary, struct trouble *t)
{
	json_t *times = json_object();

	json_move(row, "started", times);
	json_move(row, "finished", times);
	json_put(summary, "times", times);
	return put_list(times, "stages", rows_list(db, sql_reports_stages, keys, t));
}

static void put_verdict_of_run(json_t *summary)
{
	const json_t *block;
	json_t *counts = json_object_get(summary, "findings");
	bool findings = false;
	size_t at = 0;

	while ((block = summary_block(summary, &at)))
		findings = count_findings(summary, block, counts) || findings;
	json_put(summary, "status", json_string(status_word(findings, json_flag(summary, "complete"))));
}

static int fill(sqlite3 *db, const struct row_keys *keys, json_t *row, json_t *summary, struct trouble *t)
{
	json_t *trouble;

	json_put(summary, "schema", json_integer(1));
	json_move(row, "run", summary);
	json_move(row, "command", summary);
	if (put_times(db, keys, row, summary, t) < 0)
		return -1;
	json_move(row, "since", summary);
	json_move(row, "all_keys", summary);
	json_move(row, "tool", summary);
	json_put(summary, "config", config_of(row));
	json_move(row, "fail_on", summary);
	json_move(row, "previous_run", summary);
	trouble = rows_list(db, sql_reports_troubles, keys, t);
	if (!trouble)
		return -1;
	json_put(summary, "status", json_null()); /* keeps its place */
	json_put(summary, "complete", json_boolean(!json_array_size(trouble)));
	json_put(summary, "findings", no_findings());
	json_put(summary, "trouble", trouble);
	return put_blocks(db, keys, summary, t);
}

json_t *summary_build(sqlite3 *db, int64_t run, struct trouble *t)
{
	const struct row_keys keys = { .run = run };
	json_t *row, *summary = json_object();
	int found = rows_one(db, sql_reports_run, &keys, &row, t);

	if (found == 0)
		trouble_set(t, "the index has no run %lld", (long long)run);
	if (found <= 0 || fill(db, &keys, row, summary, t) < 0) {
		trouble_wrap(t, "summary of run %lld", (long long)run);
		json_decref(summary);
		json_decref(row);
		return NULL;
	}
	json_decref(row);
	put_verdict_of_run(summary);
	return summary;
}

int summary_complete(sqlite3 *db, int64_t run, struct trouble *t)
{
	const struct row_keys keys = { .run = run };
	json_t *any;
	int found = rows_one(db, sql_reports_troubles, &keys, &any, t);

	json_decref(any);
	return found < 0 ? -1 : !found;
}

struct report_result summary_result(const json_t *summary)
{
	struct report_result result = { .status = REPORT_CLEAN, .complete = json_flag(summary, "complete") };
	const char *word = json_text(summary, "status");

	while (strcmp(word, report_status_word(result.status)) != 0)
		result.status++;
	return result;
}

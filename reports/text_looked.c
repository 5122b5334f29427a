/* text_looked: what was looked at, in words. */
#include "reports/text_looked.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "reports/rows.h"
#include "reports/words.h"
#include "sql/mem.h"
#include "sql/run.h"

enum { SHOWN = 5, REPLID_SHOWN = 4 };

void text_print_line(FILE *out, const char *label, const char *words)
{
	char *safe = words_safe(words);

	fprintf(out, "  %-7s %s\n", label, safe);
	free(safe);
}

/*
 * --- times ----------------------------------------------------------------------------------------------------------

 */

/* time: RFC 3339 with six digits of fraction. */
static void print_rfc3339(const json_t *summary, const char *time, FILE *out)
{
	const char *started = json_text(json_object_get(summary, "times"), "started");
	bool same_day = started && strncmp(started, time, strlen("2026-11-30")) == 0;

	fprintf(out, "%.*sZ", (int)(same_day ? strlen("02:30:00") : strlen("2026-11-30T02:30:00")),
		same_day ? time + strlen("2026-11-30T") : time);
}

void text_print_time(const json_t *summary, int64_t us, FILE *out)
{
	char time[WORDS_ROOM];

	print_rfc3339(summary, words_time(us, time), out);
}

/*
 * --- keys -----------------------------------------------------------------------------------------------------------

 */

enum { WHOLE_PPB = 1000000000 };

/*
 * Sums over the source topics of a pipeline. The part is that of the main stratum: looks at recent keys, and at Redis
 * keys without a record, come on top.
 */
struct keys {
	int64_t looked, history; /* history: UNKNOWN where one topic's is */
	int64_t ppb;             /* the part of all keys that was looked at, in the topic where it is least; UNKNOWN */
	bool whole;              /* every key there is */
};

static struct keys count_keys(const json_t *pipeline)
{
	struct keys keys = { .ppb = WHOLE_PPB, .whole = true };
	const json_t *sample;
	size_t i;

	json_array_foreach(json_object_get(pipeline, "sample"), i, sample)
	{
		const json_t *all = json_array_get(json_object_get(sample, "strata"), 0);
		int64_t history = json_int(sample, "history_keys"), ppb = json_int(all, "fraction_ppb");

		keys.looked += json_int(sample, "keys");
		keys.history = history == UNKNOWN || keys.history == UNKNOWN ? UNKNOWN : keys.history + history;
		keys.ppb = ppb < keys.ppb ? ppb : keys.ppb; /* UNKNOWN is the least */
		keys.whole = keys.whole && json_flag(all, "whole");
	}
	return keys;
}

/* Whether all recent keys of the pipeline are in the sample: what --since asks for. */
static bool all_recent(const json_t *pipeline)
{
	const json_t *sample;
	size_t i;

	json_array_foreach(json_object_get(pipeline, "sample"), i, sample)
	{
		if (!json_flag(json_array_get(json_object_get(sample, "strata"), 1), "whole"))
			return false;
	}
	return true;
}

void text_print_scope(const json_t *summary, const json_t *pipeline, FILE *out)
{
	struct keys keys = count_keys(pipeline);
	const char *since = json_text(summary, "since");
	char share[WORDS_ROOM];

	if (since) {
		fputs(" written since ", out);
		print_rfc3339(summary, since, out);
	}
	if (since ? all_recent(pipeline) : keys.whole)
		fputs(" (all looked at)", out);
	else if (!since && keys.ppb != UNKNOWN)
		fprintf(out, " (%s looked at)", words_percent(keys.ppb, WHOLE_PPB, share));
	else
		fputs(" (a sample)", out);
}

/*
 * --- trouble --------------------------------------------------------------------------------------------------------

 */

static bool concerns(const json_t *trouble, const char *pipeline)
{
	const char *whose = json_text(trouble, "pipeline");

	return !pipeline || !whose || strcmp(whose, pipeline) == 0;
}

int64_t text_trouble_count(const json_t *summary, const char *pipeline)
{
	const json_t *trouble;
	int64_t count = 0;
	size_t i;

	json_array_foreach(json_object_get(summary, "trouble"), i, trouble) count +=
		concerns(trouble, pipeline) && strcmp(json_text(trouble, "stage"), "run") != 0;
	return count;
}

static void print_one_trouble(const json_t *trouble, FILE *out)
{
	const char *stage = json_text(trouble, "stage"), *topic = json_text(trouble, "topic"),
		   *text = json_text(trouble, "text");
	int64_t partition = json_int(trouble, "partition");
	char *words;

	if (topic && partition != UNKNOWN)
		words = xprintf("%s %s/%lld: %s", stage, topic, (long long)partition, text);
	else if (topic)
		words = xprintf("%s %s: %s", stage, topic, text);
	else
		words = xprintf("%s: %s", stage, text);
	text_print_line(out, "trouble", words);
	free(words);
}

void text_print_trouble(const json_t *summary, const char *pipeline, FILE *out)
{
	const json_t *trouble;
	char number[WORDS_ROOM];
	int64_t count = 0;
	size_t i;

	json_array_foreach(json_object_get(summary, "trouble"), i, trouble)
	{
		if (concerns(trouble, pipeline) && count++ < SHOWN)
			print_one_trouble(trouble, out);
	}
	if (count > SHOWN)
		fprintf(out, "          and %s more: trouble in summary.json\n", words_number(count - SHOWN, number));
}

/*
 * --- redis and workers ----------------------------------------------------------------------------------------------

 */

/* "10.2.0.7:6379, master, 7.0.15" */
static char *describe_server(const json_t *server)
{
	const char *role = json_text(server, "role"), *version = json_text(server, "version");

	return xprintf("%s, %s, %s", json_text(server, "address"), role ? role : "role unknown",
		       version ? version : "version unknown");
}

/* What changed: "new master since run 41 (replid 8f3c -> 77aa), now 10.2.0.7:6379". */
static char *describe_change(const json_t *server)
{
	const char *change = json_text(server, "change"), *old = json_text(server, "previous_replid"),
		   *new = json_text(server, "replid");
	long long run = (long long)json_int(server, "previous_run");
	char *what = describe_server(server), *words = NULL;

	if (strcmp(change, "new-master") == 0)
		words = xprintf("new master since run %lld (replid %.*s -> %.*s), now %s", run, REPLID_SHOWN, old,
				REPLID_SHOWN, new, what);
	else if (strcmp(change, "new-history") == 0)
		words = xprintf("restarted or replaced since run %lld (replid %.*s -> %.*s), now %s", run, REPLID_SHOWN,
				old, REPLID_SHOWN, new, what);
	else if (strcmp(change, "restarted") == 0)
		words = xprintf("restarted since run %lld, same replid; %s", run, what);
	else if (strcmp(change, "unchanged") == 0)
		words = xprintf("%s, unchanged since run %lld", what, run);
	else if (strcmp(change, "first-seen") == 0)
		words = xprintf("%s, first seen", what);
	else
		words = xprintf("%s, replid not known", what);
	free(what);
	return words;
}

static void print_redis(const json_t *pipeline, FILE *out)
{
	const json_t *server, *servers = json_object_get(pipeline, "servers");
	const char *redis = json_text(pipeline, "redis");
	size_t i;

	json_array_foreach(servers, i, server)
	{
		char *words = describe_change(server);

		text_print_line(out, "redis", words);
		free(words);
	}
	if (redis && !json_array_size(servers)) {
		char *words = xprintf("%s, not seen", redis);

		text_print_line(out, "redis", words);
		free(words);
	}
}

static void print_workers(const json_t *pipeline, FILE *out)
{
	const json_t *group = json_object_get(pipeline, "group");
	const char *state = json_text(group, "state");
	int64_t members = json_int(group, "members");
	char number[WORDS_ROOM + 24], *words;

	if (!json_text(group, "id"))
		return;
	words = xprintf("group %s%s%s", state ? state : "in an unknown state", members > 0 ? ", " : "",
			members > 0 ? words_count(members, "member", "members", number) : "");
	text_print_line(out, "workers", words);
	free(words);
}

/* Kafka Streams does not know of other partitioners. */
static void print_partitioner(const json_t *pipeline, FILE *out)
{
	const char *partitioner = json_text(pipeline, "partitioner");
	char *words;

	if (!partitioner || strcmp(partitioner, "murmur2") == 0)
		return;
	words = xprintf("by %s; joins of Kafka Streams place and look for keys by murmur2 and will not find these",
			partitioner);
	text_print_line(out, "placed", words);
	free(words);
}

/*
 * --- looked ---------------------------------------------------------------------------------------------------------

 */

/* Sums over the source topics' partitions. */
struct partitions {
	int64_t covered, all, records;
};

static struct partitions count_partitions(const json_t *pipeline)
{
	struct partitions sum = { 0 };
	const json_t *topic, *partition;
	size_t i, j;

	json_array_foreach(json_object_get(pipeline, "topics"), i, topic)
	{
		int64_t rows = (int64_t)json_array_size(json_object_get(topic, "horizon")),
			known = json_int(topic, "partitions");

		if (strcmp(json_text(topic, "role"), "source") != 0)
			continue;
		sum.all += known > rows ? known : rows;
		json_array_foreach(json_object_get(topic, "horizon"), j, partition)
		{
			int64_t records = json_int(partition, "records");

			sum.covered += json_flag(partition, "covered");
			sum.records += records == UNKNOWN ? 0 : records;
		}
	}
	return sum;
}

/* Subjects by reason, over all checks. The caller owns it. */
static json_t *count_unverifiable(const json_t *pipeline, int64_t *all)
{
	json_t *reasons = json_object();
	const json_t *check, *row;
	size_t i, j;

	*all = 0;
	json_array_foreach(json_object_get(pipeline, "checks"), i, check)
	{
		json_array_foreach(json_object_get(check, "unverifiable"), j, row)
		{
			const char *reason = json_text(row, "reason");
			int64_t subjects = json_int(row, "subjects"), before = json_int(reasons, reason);

			*all += subjects;
			json_put(reasons, reason, json_integer(subjects + (before == UNKNOWN ? 0 : before)));
		}
	}
	return reasons;
}

/* "; 212 unverifiable (gap 212)" */
static void print_unverifiable(const json_t *pipeline, FILE *out)
{
	int64_t all;
	json_t *reasons = count_unverifiable(pipeline, &all), *count;
	char number[WORDS_ROOM];
	const char *reason, *before = " (";

	fprintf(out, "; %s unverifiable", words_number(all, number));
	json_object_foreach(reasons, reason, count)
	{
		char *safe = words_safe(reason);

		if (json_integer_value(count)) {
			fprintf(out, "%s%s %s", before, safe, words_number(json_integer_value(count), number));
			before = ", ";
		}
		free(safe);
	}
	fputs(all ? ")\n" : "\n", out);
	json_decref(reasons);
}

static void print_looked(const json_t *summary, const json_t *pipeline, FILE *out)
{
	struct partitions partitions = count_partitions(pipeline);
	struct keys keys = count_keys(pipeline);
	char a[WORDS_ROOM], b[WORDS_ROOM], records[WORDS_ROOM + 24];

	fprintf(out, "  looked  %s of %s partitions, %s", words_number(partitions.covered, a),
		words_number(partitions.all, b), words_count(partitions.records, "record", "records", records));
	if (json_array_size(json_object_get(pipeline, "sample"))) {
		fprintf(out, ", %s", words_number(keys.looked, a));
		if (json_text(summary, "since"))
			fputs(" keys", out);
		else if (keys.whole)
			fputs(" keys (all)", out);
		else
			fprintf(out, " of about %s keys (%s)", words_number(keys.history, a),
				words_percent(keys.ppb, WHOLE_PPB, b));
	}
	fprintf(out, "; %s unreachable", words_number(partitions.all - partitions.covered, a));
	print_unverifiable(pipeline, out);
}

/* Parts per billion as percent, rounded up: "0.00030". */
static void print_ppb(int64_t ppb, FILE *out)
{
	if (ppb >= 10000000)
		fprintf(out, "%lld.%lld", (long long)((ppb + 999999) / 1000000 / 10),
			(long long)((ppb + 999999) / 1000000 % 10));
	else
		fprintf(out, "0.%05lld", (long long)((ppb + 99) / 100));
}

/* What was not looked at may still be bad: how much of it, at most. */
static void print_bounds(const json_t *pipeline, FILE *out)
{
	const json_t *sample, *stratum;
	size_t i, j;

	json_array_foreach(json_object_get(pipeline, "sample"), i, sample)
	{
		json_array_foreach(json_object_get(sample, "strata"), j, stratum)
		{
			int64_t ppb = json_int(stratum, "bound_95_ppb");
			char bad[WORDS_ROOM], decided[WORDS_ROOM];

			if (ppb == UNKNOWN || !json_int(stratum, "keys"))
				continue;
			fprintf(out, "  bound   %s bad of %s %s decided: of all %s at most ",
				words_number(json_int(stratum, "bad"), bad),
				words_number(json_int(stratum, "decided"), decided), j ? "recent keys" : "keys",
				j ? "recent keys" : "keys");
			print_ppb(ppb, out);
			fputs(" % are bad (95 % sure)\n", out);
		}
	}
}

/* Sums over the streams of a watch. */
static void print_streams(const json_t *block, FILE *out)
{
	const json_t *streams = json_object_get(block, "streams"), *stream;
	int64_t looked = 0, groups = 0, pending = 0, kept = 0, all;
	char number[WORDS_ROOM + 24];
	size_t i;

	json_array_foreach(streams, i, stream)
	{
		if (strcmp(json_text(stream, "role"), "source") != 0 || !json_flag(stream, "present"))
			continue;
		looked += !json_text(stream, "trouble");
		groups += json_int(stream, "groups");
		all = json_int(stream, "listed");
		pending += all == UNKNOWN ? 0 : all;
		all = json_int(stream, "kept");
		kept += all == UNKNOWN ? 0 : all;
	}
	fprintf(out, "  looked  %s", words_count(looked, "stream", "streams", number));
	fprintf(out, ", %s", words_count(groups, "group", "groups", number));
	fprintf(out, ", %s", words_count(pending, "pending entry", "pending entries", number));
	if (kept < pending)
		fprintf(out, " (%s kept)", words_number(kept, number));
	print_unverifiable(block, out);
}

void text_print_facts(const json_t *summary, const json_t *block, FILE *out)
{
	print_redis(block, out);
	if (json_object_get(block, "streams")) {
		print_streams(block, out);
	} else if (json_object_get(block, "topics")) {
		print_workers(block, out);
		print_partitioner(block, out);
		print_looked(summary, block, out);
		print_bounds(block, out);
	}
}

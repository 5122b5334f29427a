/*
 * replay_tool: replays topics into an index, as a run does, and says what it saw. For tests and benchmarks.
 *
 *     replay_tool -b SERVERS [-X prop=val] [-n HANDLES] [-t TIMEOUT_MS] [-u] [-N] [-H HEADER] [-e] INDEX TOPIC...
 *
 * -u read_uncommitted; -N keep numbers; -H HEADER source coordinates; -e extend and replay again (the tail); -o and
 * -w wait for a line on stdin before the first replay and before the tail, saying "open" and "bulk"; -g GROUP and
 * -a TIME_MS further looks, printed as one JSON object (first offsets at or after TIME_MS). A topic may be a
 * ^regex. One JSON object a topic on stdout. Ends early, with 1, at SIGTERM. Exit 0: everything covered; 1: not; 3:
 * the index.
 */
#include <getopt.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ingest/kafka_source.h"
#include "ingest/replay.h"
#include "sql/index.h"
#include "sql/mem.h"
#include "sql/runlog.h"

static atomic_int stop;

static void on_signal(int number)
{
	(void)number;
	atomic_store(&stop, 1);
}

static int64_t clock_us(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return now.tv_sec * (int64_t)1000000 + now.tv_nsec / 1000;
}

static int64_t wall_us(void *context)
{
	(void)context;
	return clock_us(CLOCK_REALTIME);
}

static int64_t tick_us(void *context)
{
	(void)context;
	return clock_us(CLOCK_MONOTONIC);
}

static void note(void *context, const char *text)
{
	(void)context;
	fprintf(stderr, "%s\n", text);
}

struct options {
	const char *index, *header, *group;
	int64_t at_ms;
	struct properties properties;
	struct kafka_options kafka;
	enum isolation isolation;
	bool numbers, extend, wait_open, wait_bulk;
};

static void add_property(struct properties *properties, const char *name, const char *value)
{
	properties->items = xgrow(properties->items, properties->count + 1, sizeof(*properties->items));
	properties->items[properties->count++] = (struct property){ .name = xstrdup(name), .value = xstrdup(value) };
}

static void add_pair(struct properties *properties, char *pair)
{
	char *equals = strchr(pair, '=');

	if (!equals)
		exit(64);
	*equals = '\0';
	add_property(properties, pair, equals + 1);
}

static void parse(int argc, char **argv, struct options *o)
{
	int option;

	while ((option = getopt(argc, argv, "b:X:n:t:uNH:eowg:a:")) != -1) {
		switch (option) {
		case 'b': add_property(&o->properties, "bootstrap.servers", optarg); break;
		case 'X': add_pair(&o->properties, optarg); break;
		case 'n': o->kafka.handles = atoi(optarg); break;
		case 't': o->kafka.timeout_ms = atoi(optarg); break;
		case 'u': o->isolation = ISOLATION_READ_UNCOMMITTED; break;
		case 'N': o->numbers = true; break;
		case 'H': o->header = optarg; break;
		case 'e': o->extend = true; break;
		case 'g': o->group = optarg; break;
		case 'a': o->at_ms = atoll(optarg); break;
		case 'o': o->wait_open = true; break;
		case 'w': o->wait_bulk = o->extend = true; break;
		default: exit(64);
		}
	}
	if (optind + 2 > argc)
		exit(64);
	o->index = argv[optind++];
}

static json_t *number(int64_t value)
{
	return value == UNKNOWN ? json_null() : json_integer(value);
}

static json_t *part_json(const struct topic_part *part)
{
	json_t *object = json_object();

	json_object_set_new(object, "partition", json_integer(part->partition));
	json_object_set_new(object, "first", number(part->first));
	json_object_set_new(object, "next", number(part->next));
	json_object_set_new(object, "gap", number(part->gap));
	json_object_set_new(object, "log_start", number(part->log_start));
	json_object_set_new(object, "last_stable", number(part->last_stable));
	json_object_set_new(object, "high_watermark", number(part->high_watermark));
	json_object_set_new(object, "end", number(part->end));
	json_object_set_new(object, "records", json_integer(part->records));
	json_object_set_new(object, "covered", json_boolean(part->covered));
	json_object_set_new(object, "beyond", json_boolean(part->beyond));
	json_object_set_new(object, "trouble", json_string(part->trouble.text));
	return object;
}

static bool print_topic(const struct topic_history *topic)
{
	json_t *object = json_object(), *parts = json_array();
	bool covered = topic->incarnation_id != 0;

	json_object_set_new(object, "topic", json_string(topic->topic));
	json_object_set_new(object, "incarnation", json_integer(topic->incarnation_id));
	json_object_set_new(object, "rewritten", json_boolean(topic->rewritten));
	json_object_set_new(object, "trouble", json_string(topic->trouble.text));
	json_object_set_new(object, "cleanup_policy",
			    topic->description.cleanup_policy ? json_string(topic->description.cleanup_policy)
							      : json_null());
	for (int32_t i = 0; i < topic->partitions; i++) {
		json_array_append_new(parts, part_json(&topic->parts[i]));
		covered = covered && topic->parts[i].covered;
	}
	json_object_set_new(object, "parts", parts);
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(object);
	return covered;
}

/* The topics under test. */
struct topics {
	struct topic_history *items;
	size_t count;
};

static int add_topics(struct source *source, const struct options *o, const char *pattern, struct topics *topics,
		      struct trouble *t)
{
	struct topic_names names;

	if (source->ops->topics(source, pattern, &names, t) < 0)
		return -1;
	if (names.count == 0)
		return trouble_set(t, "no topic matches %s", pattern);
	for (size_t i = 0; i < names.count; i++) {
		topics->items = xgrow(topics->items, topics->count + 1, sizeof(*topics->items));
		topics->items[topics->count++] = (struct topic_history){
			.topic = xstrdup(names.names[i]),
			.isolation = o->isolation,
			.numbers = o->numbers,
			.dlq_header = o->header,
		};
	}
	topic_names_release(&names);
	return 0;
}

/* One kind of answer for every partition: [{topic, partition, offset, trouble}]. */
static json_t *answers(struct source *source, const struct options *o, const struct topics *topics, bool commits)
{
	struct trouble trouble = { 0 };
	json_t *array = json_array();

	for (size_t i = 0; i < topics->count; i++)
		for (int32_t p = 0; p < topics->items[i].partitions; p++) {
			struct offset_query q = { .topic = topics->items[i].topic,
						  .partition = p,
						  .time_ms = o->at_ms };

			if (commits)
				source->ops->commits(source, o->group, &q, 1, &trouble);
			else
				source->ops->offsets(source, OFFSET_AT_TIME, &q, 1, &trouble);
			json_array_append_new(array,
					      json_pack("{s:s, s:i, s:o, s:s}", "topic", q.topic, "partition", (int)p,
							"offset", number(q.offset), "trouble", q.trouble.text));
		}
	return array;
}

static void print_looks(struct source *source, const struct options *o, const struct topics *topics)
{
	struct trouble trouble = { 0 };
	struct group_look group = { .members = UNKNOWN };
	json_t *object = json_object();

	if (o->group) {
		source->ops->group(source, o->group, &group, &trouble);
		json_object_set_new(object, "state", group.state ? json_string(group.state) : json_null());
		json_object_set_new(object, "members", number(group.members));
		json_object_set_new(object, "group_trouble", json_string(group.trouble.text));
		json_object_set_new(object, "commits", answers(source, o, topics, true));
		group_look_release(&group);
	}
	if (o->at_ms)
		json_object_set_new(object, "at", answers(source, o, topics, false));
	json_object_set_new(object, "transaction_max_ms", number(source->ops->transaction_max_ms(source)));
	json_object_set_new(object, "cluster", json_string(source->ops->cluster(source)));
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(object);
}

static void wait_for_line(const char *word)
{
	int c;

	puts(word);
	fflush(stdout);
	while ((c = getchar()) != '\n' && c != EOF)
		;
}

static int look(const struct run *run, struct source *source, sqlite3 *db, const struct options *o,
		struct topics *topics, struct trouble *t)
{
	if (replay_open(run, source, db, topics->items, topics->count, t) < 0)
		return 3;
	if (o->wait_open)
		wait_for_line("open");
	if (replay_run(run, source, db, topics->items, topics->count, t) < 0)
		return 3;
	if (o->wait_bulk)
		wait_for_line("bulk");
	if (o->group || o->at_ms)
		print_looks(source, o, topics);
	if (o->extend && (replay_extend(run, source, db, topics->items, topics->count, t) < 0 ||
			  replay_run(run, source, db, topics->items, topics->count, t) < 0))
		return 3;
	return 0;
}

static int look_at(const struct run *run, sqlite3 *db, const struct options *o, char **patterns, struct topics *topics,
		   struct trouble *t)
{
	struct source *source;
	int result = 0;

	if (kafka_source_new(run, &o->properties, &o->kafka, &source, t) < 0)
		return 1;
	for (; *patterns && result == 0; patterns++)
		result = add_topics(source, o, *patterns, topics, t) < 0;
	if (result == 0)
		result = look(run, source, db, o, topics, t);
	source->ops->free(source);
	return result;
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	struct run run = { .wall_us = wall_us, .tick_us = tick_us, .note = note, .stop = &stop };
	const struct run_begin begin = {
		.command = "replay", .config = "none", .config_sha256 = "", .since_us = UNKNOWN
	};
	struct trouble trouble = { 0 };
	struct topics topics = { 0 };
	struct index index;
	int status;

	parse(argc, argv, &o);
	signal(SIGTERM, on_signal);
	if (index_open_write(&run, o.index, 60000, &index, &trouble) != INDEX_OPEN ||
	    run_begin(&run, index.db, &begin, &run.id, &trouble) < 0) {
		fprintf(stderr, "replay_tool: %s\n", trouble.text);
		return 3;
	}
	status = look_at(&run, index.db, &o, argv + optind, &topics, &trouble);
	if (trouble.text[0])
		fprintf(stderr, "replay_tool: %s\n", trouble.text);
	for (size_t i = 0; i < topics.count; i++) {
		if (!print_topic(&topics.items[i]) && status == 0)
			status = 1;
		topic_history_release(&topics.items[i]);
	}
	free(topics.items);
	for (size_t i = 0; i < o.properties.count; i++) {
		free(o.properties.items[i].name);
		free(o.properties.items[i].value);
	}
	free(o.properties.items);
	index_close(&index);
	return status;
}

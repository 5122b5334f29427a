/*
 * kafka_admin: what only the admin requests tell: configuration, groups, commits. A broker may not answer them, or
 * the ACLs forbid them: then it is not known, and said so. Only the commits are worth the run's whole time-out.
 */
#include <stdlib.h>
#include <string.h>

#include "ingest/kafka_client.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"

enum { ADMIN_MS = 4000, COORDINATOR_MS = 10000 };

static int64_t shorter(const struct kafka_source *source, int64_t ms)
{
	if (source->silent_us != UNKNOWN)
		ms = KAFKA_SLICE_MS;
	return source->timeout_ms < ms ? source->timeout_ms : ms;
}

/* Of an error that librdkafka has said something about: a missing right of the group is ours to name. */
static const char *admin_words(rd_kafka_resp_err_t err, const char *said)
{
	return err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ? kafka_err_words(err) : said;
}

static const char *error_words(const rd_kafka_error_t *error)
{
	return admin_words(rd_kafka_error_code(error), rd_kafka_error_string(error));
}

/*
 * Waits for the answer to one request. NULL with t filled and, where it is asked for, the error; silence shows in
 * the source. The caller destroys the event.
 */
static rd_kafka_event_t *await(struct kafka_client *client, rd_kafka_queue_t *queue, int64_t ms,
			       rd_kafka_resp_err_t *err, struct trouble *t)
{
	int64_t until = run_tick_us(client->source->run) + (ms + 500) * 1000;
	rd_kafka_event_t *event = NULL;

	if (err)
		*err = RD_KAFKA_RESP_ERR__TIMED_OUT;
	while (!event && kafka_client_may_wait(client, until))
		event = rd_kafka_queue_poll(queue, 100);
	if (!event) {
		trouble_set(t, "%s",
			    run_stopped(client->source->run)
				    ? "stopped"
				    : kafka_client_words(client, RD_KAFKA_RESP_ERR__TIMED_OUT));
		return NULL;
	}
	if (rd_kafka_event_error(event)) {
		trouble_set(t, "%s",
			    admin_words(rd_kafka_event_error(event), rd_kafka_event_error_string(event)));
		if (err)
			*err = rd_kafka_event_error(event);
		if (rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__TIMED_OUT &&
		    rd_kafka_event_type(event) != RD_KAFKA_EVENT_LISTCONSUMERGROUPOFFSETS_RESULT)
			client->source->admin_silent = true;
		rd_kafka_event_destroy(event);
		return NULL;
	}
	return event;
}

static rd_kafka_AdminOptions_t *options_new(struct kafka_client *client, rd_kafka_admin_op_t op, int64_t ms)
{
	rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(client->rk, op);
	char words[128];

	rd_kafka_AdminOptions_set_request_timeout(options, (int)ms, words, sizeof(words));
	return options;
}

/* --- configuration ----------------------------------------------------------------------------------------------- */

static bool is_broker(struct kafka_client *client, int32_t id)
{
	const struct rd_kafka_metadata *metadata;
	bool found = false;

	if (rd_kafka_metadata(client->rk, 0, NULL, &metadata, KAFKA_SLICE_MS))
		return true; /* the request itself will say what is wrong */
	for (int i = 0; i < metadata->broker_cnt; i++)
		found = found || metadata->brokers[i].id == id;
	rd_kafka_metadata_destroy(metadata);
	return found;
}

/*
 * Admin requests go to the controller, and librdkafka waits for one in vain where the metadata names none, or names
 * what is no broker, as the mock cluster does.
 */
static bool admin_answers(struct kafka_client *client, struct trouble *t)
{
	struct kafka_source *source = client->source;
	int32_t controller;

	if (!source->admin_asked) {
		source->admin_asked = true;
		controller = rd_kafka_controllerid(client->rk, 500);
		source->admin_silent = FAULT(KAFKA_ADMIN) || controller < 0 || !is_broker(client, controller);
	}
	if (source->admin_silent)
		trouble_set(t, "the brokers do not answer admin requests");
	return !source->admin_silent;
}

static const char *config_words(rd_kafka_resp_err_t err)
{
	if (err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
		return "Topic authorization failed: the user needs DescribeConfigs on the topic";
	return rd_kafka_err2str(err);
}

/* The event of a DescribeConfigs of one resource, whose entries are in *resource. NULL with t filled. */
static rd_kafka_event_t *describe_configs(struct kafka_client *client, rd_kafka_ResourceType_t type, const char *name,
					  const rd_kafka_ConfigResource_t **resource, struct trouble *t)
{
	rd_kafka_ConfigResource_t *asked = rd_kafka_ConfigResource_new(type, name);
	int64_t ms = shorter(client->source, ADMIN_MS);
	rd_kafka_AdminOptions_t *options = options_new(client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, ms);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(client->rk);
	const rd_kafka_ConfigResource_t **answers;
	rd_kafka_event_t *event;
	size_t count = 0;

	rd_kafka_DescribeConfigs(client->rk, &asked, 1, options, queue);
	event = await(client, queue, ms, NULL, t);
	if (event) {
		answers =
			rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &count);
		*resource = count == 1 ? answers[0] : NULL;
		if (FAULT(KAFKA_CONFIG) || count != 1 || rd_kafka_ConfigResource_error(*resource)) {
			trouble_set(t, "%s",
				    count != 1 ? "no answer" : config_words(rd_kafka_ConfigResource_error(*resource)));
			rd_kafka_event_destroy(event);
			event = NULL;
		}
	}
	rd_kafka_queue_destroy(queue);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_ConfigResource_destroy(asked);
	return event;
}

/* The value of one entry; NULL: absent. Borrowed from the event. */
static const char *config_value(const rd_kafka_ConfigResource_t *resource, const char *name)
{
	const rd_kafka_ConfigEntry_t **entries;
	size_t count;

	entries = rd_kafka_ConfigResource_configs(resource, &count);
	for (size_t i = 0; i < count; i++)
		if (strcmp(rd_kafka_ConfigEntry_name(entries[i]), name) == 0)
			return rd_kafka_ConfigEntry_value(entries[i]);
	return NULL;
}

static int64_t config_number(const rd_kafka_ConfigResource_t *resource, const char *name)
{
	const char *value = config_value(resource, name);
	char *end;
	long long number;

	if (!value || !*value)
		return UNKNOWN;
	number = strtoll(value, &end, 10);
	return *end ? UNKNOWN : number;
}

/* Once a topic. */
static void note_config(struct kafka_source *source, const char *topic, struct trouble *t)
{
	struct topic_names *noted = &source->config_noted;

	trouble_wrap(t, "configuration of topic %s", topic);
	for (size_t i = 0; i < noted->count; i++)
		if (strcmp(noted->names[i], topic) == 0)
			return;
	noted->names = xgrow(noted->names, noted->count + 1, sizeof(*noted->names));
	noted->names[noted->count++] = xstrdup(topic);
	run_note(source->run,
		 "%s; cleanup policy and retention are not known, and what depends on them is unverifiable", t->text);
}

void kafka_describe_config(struct kafka_client *client, const char *topic, struct topic_description *out)
{
	const rd_kafka_ConfigResource_t *resource;
	rd_kafka_event_t *event;
	const char *value;

	event = admin_answers(client, &out->config_trouble)
			? describe_configs(client, RD_KAFKA_RESOURCE_TOPIC, topic, &resource, &out->config_trouble)
			: NULL;
	if (!event) {
		note_config(client->source, topic, &out->config_trouble);
		return;
	}
	if ((value = config_value(resource, "cleanup.policy")))
		out->cleanup_policy = xstrdup(value);
	if ((value = config_value(resource, "message.timestamp.type")))
		out->timestamp_type = xstrdup(value);
	out->retention_ms = config_number(resource, "retention.ms");
	out->segment_ms = config_number(resource, "segment.ms");
	rd_kafka_event_destroy(event);
}

int64_t kafka_transaction_max_ms(struct source *base)
{
	struct kafka_source *source = kafka_source_of(base);
	struct trouble ignored = { 0 };
	struct kafka_client *client = kafka_look_client(source, ISOLATION_READ_COMMITTED, &ignored);
	const rd_kafka_ConfigResource_t *resource;
	rd_kafka_event_t *event;
	char name[16];

	if (source->transaction_max_asked || !client || !admin_answers(client, &ignored))
		return source->transaction_max_ms;
	source->transaction_max_asked = true;
	snprintf(name, sizeof(name), "%d", (int)rd_kafka_controllerid(client->rk, 500));
	event = describe_configs(client, RD_KAFKA_RESOURCE_BROKER, name, &resource, &ignored);
	if (event) {
		source->transaction_max_ms = config_number(resource, "transaction.max.timeout.ms");
		rd_kafka_event_destroy(event);
	}
	return source->transaction_max_ms;
}

/* --- groups ------------------------------------------------------------------------------------------------------ */

int kafka_group(struct source *base, const char *group, struct group_look *look, struct trouble *t)
{
	struct kafka_source *source = kafka_source_of(base);
	struct kafka_client *client = kafka_look_client(source, ISOLATION_READ_COMMITTED, t);
	int64_t ms = shorter(source, ADMIN_MS);
	const rd_kafka_ConsumerGroupDescription_t **answers;
	rd_kafka_AdminOptions_t *options;
	rd_kafka_queue_t *queue;
	rd_kafka_event_t *event;
	size_t count = 0;

	*look = (struct group_look){ .members = UNKNOWN, .at_us = UNKNOWN };
	if (!client)
		return -1;
	if (!admin_answers(client, &look->trouble))
		return 0;
	queue = rd_kafka_queue_new(client->rk);
	options = options_new(client, RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, ms);
	rd_kafka_DescribeConsumerGroups(client->rk, &group, 1, options, queue);
	event = await(client, queue, ms, NULL, &look->trouble);
	look->at_us = run_now_us(source->run);
	if (event) {
		answers = rd_kafka_DescribeConsumerGroups_result_groups(
			rd_kafka_event_DescribeConsumerGroups_result(event), &count);
		if (FAULT(KAFKA_GROUP)) {
			trouble_set(&look->trouble, "%s",
				    kafka_err_words(RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED));
		} else if (count != 1 || rd_kafka_ConsumerGroupDescription_error(answers[0])) {
			trouble_set(&look->trouble, "%s",
				    count != 1 ? "no answer"
					       : error_words(rd_kafka_ConsumerGroupDescription_error(answers[0])));
		} else {
			look->state = xstrdup(rd_kafka_consumer_group_state_name(
				rd_kafka_ConsumerGroupDescription_state(answers[0])));
			look->members = (int64_t)rd_kafka_ConsumerGroupDescription_member_count(answers[0]);
		}
		rd_kafka_event_destroy(event);
	}
	if (look->trouble.text[0])
		trouble_wrap(&look->trouble, "group %s", group);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_queue_destroy(queue);
	return 0;
}

void group_look_release(struct group_look *look)
{
	free(look->state);
	*look = (struct group_look){ .members = UNKNOWN, .at_us = UNKNOWN };
}

static void take_commits(const rd_kafka_topic_partition_list_t *list, const char *group, int64_t now,
			 struct offset_query *queries, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const rd_kafka_topic_partition_t *answer = rd_kafka_topic_partition_list_find(
			(rd_kafka_topic_partition_list_t *)list, queries[i].topic, queries[i].partition);

		queries[i].at_us = now;
		if (FAULT(KAFKA_COMMIT) || !answer)
			trouble_set(&queries[i].trouble, "group %s: no answer for %s/%d", group, queries[i].topic,
				    queries[i].partition);
		else if (answer->err)
			trouble_set(&queries[i].trouble, "group %s: %s/%d: %s", group, queries[i].topic,
				    queries[i].partition, rd_kafka_err2str(answer->err));
		else if (answer->offset >= 0)
			queries[i].offset = answer->offset;
	}
}

/* One attempt. 1: answered; 0: worth another try, words in t; -1: hopeless. */
static int ask_commits(struct kafka_client *client, const char *group, struct offset_query *queries, size_t count,
		       struct trouble *t)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(client->rk);
	int64_t ms = shorter(client->source, COORDINATOR_MS);
	rd_kafka_AdminOptions_t *options = options_new(client, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, ms);
	rd_kafka_ListConsumerGroupOffsets_t *asked;
	const rd_kafka_group_result_t **groups;
	const rd_kafka_error_t *error;
	rd_kafka_resp_err_t err;
	rd_kafka_event_t *event;
	size_t n = 0;
	int result = 0;

	for (size_t i = 0; i < count; i++)
		rd_kafka_topic_partition_list_add(list, queries[i].topic, queries[i].partition);
	asked = rd_kafka_ListConsumerGroupOffsets_new(group, list);
	rd_kafka_ListConsumerGroupOffsets(client->rk, &asked, 1, options, queue);
	event = await(client, queue, ms, &err, t);
	if (!event) {
		result = kafka_err_passes(err) ? 0 : -1;
	} else {
		groups = rd_kafka_ListConsumerGroupOffsets_result_groups(
			rd_kafka_event_ListConsumerGroupOffsets_result(event), &n);
		error = n == 1 ? rd_kafka_group_result_error(groups[0]) : NULL;
		if (FAULT(KAFKA_COMMITS)) {
			result = trouble_set(t, "%s", kafka_err_words(RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED));
		} else if (n == 1 && !error) {
			take_commits(rd_kafka_group_result_partitions(groups[0]), group,
				     run_now_us(client->source->run), queries, count);
			result = 1;
		} else {
			trouble_set(t, "%s", error ? error_words(error) : "no answer");
			result = error && !kafka_err_passes(rd_kafka_error_code(error)) ? -1 : 0;
		}
		rd_kafka_event_destroy(event);
	}
	rd_kafka_ListConsumerGroupOffsets_destroy(asked);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_queue_destroy(queue);
	rd_kafka_topic_partition_list_destroy(list);
	return result;
}

/*
 * require_stable is off unless asked for: with a transactional commit pending, the materialised value comes at
 * once; it is the lower, sound one.
 */
int kafka_commits(struct source *base, const char *group, struct offset_query *queries, size_t count, struct trouble *t)
{
	struct kafka_source *source = kafka_source_of(base);
	struct kafka_client *client = kafka_commit_client(source, group, t);
	int64_t begun = run_tick_us(source->run);
	struct trouble why = { 0 };
	int answered;

	if (!client)
		return -1;
	for (size_t i = 0; i < count; i++) {
		queries[i].offset = UNKNOWN;
		queries[i].at_us = UNKNOWN;
		queries[i].trouble.text[0] = '\0';
	}
	if (count == 0)
		return 0;
	do {
		answered = ask_commits(client, group, queries, count, &why);
	} while (answered == 0 && kafka_client_may_wait(client, kafka_source_until(source, begun)));
	if (answered <= 0)
		for (size_t i = 0; i < count; i++)
			trouble_set(&queries[i].trouble, "group %s: %s", group, why.text);
	return 0;
}

/* kafka_look: partition counts and offsets. ListOffsets takes -2 and -1 for log start and end: one request a leader. */
#include <stdlib.h>
#include <string.h>

#include "ingest/kafka_client.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"

enum { LEADER_MS = 5000 }; /* one question to one leader, before the others have their turn */

static const struct rd_kafka_metadata_topic *find_topic(const struct rd_kafka_metadata *metadata, const char *topic)
{
	for (int i = 0; i < metadata->topic_cnt; i++)
		if (strcmp(metadata->topics[i].topic, topic) == 0)
			return &metadata->topics[i];
	return NULL;
}

int kafka_partitions(struct kafka_client *client, const char *topic, int32_t *partitions, struct trouble *t)
{
	const struct rd_kafka_metadata *metadata;
	const struct rd_kafka_metadata_topic *found;
	rd_kafka_resp_err_t err;

	if (FAULT(KAFKA_METADATA))
		return trouble_set(t, "kafka: metadata: no answer");
	if (kafka_metadata(client, topic, &metadata, t) < 0)
		return -1;
	found = find_topic(metadata, topic);
	err = found ? found->err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	*partitions = found ? found->partition_cnt : -1;
	if (err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
		*partitions = KAFKA_HIDDEN;
	rd_kafka_metadata_destroy(metadata);
	if (err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
		*partitions = -1;
		return 0;
	}
	if (err && err != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE)
		return trouble_set(t, "%s", kafka_err_words(err));
	return 0;
}

int kafka_describe(struct source *base, const char *topic, struct topic_description *out, struct trouble *t)
{
	struct kafka_client *client = kafka_look_client(kafka_source_of(base), ISOLATION_READ_COMMITTED, t);

	*out = (struct topic_description){ .partitions = -1, .retention_ms = UNKNOWN, .segment_ms = UNKNOWN };
	if (!client)
		return -1;
	if (kafka_partitions(client, topic, &out->partitions, t) < 0) {
		out->partitions = -1;
		return -1;
	}
	if (out->partitions >= 0)
		kafka_describe_config(client, topic, out);
	return 0;
}

void topic_description_release(struct topic_description *description)
{
	free(description->cleanup_policy);
	free(description->timestamp_type);
	*description = (struct topic_description){ .partitions = -1, .retention_ms = UNKNOWN, .segment_ms = UNKNOWN };
}

/* Leaders of the partitions asked about, by query; -1: none, the query's trouble says why. */
struct leaders {
	int32_t *id;
	const struct rd_kafka_metadata *metadata; /* of the topic looked up last */
	const char *topic;
};

static int leader_of(struct kafka_client *client, struct leaders *leaders, struct offset_query *query)
{
	const struct rd_kafka_metadata_topic *found;

	if (!leaders->topic || strcmp(leaders->topic, query->topic) != 0) {
		if (leaders->metadata)
			rd_kafka_metadata_destroy(leaders->metadata);
		leaders->metadata = NULL;
		leaders->topic = query->topic;
		if (kafka_metadata(client, query->topic, &leaders->metadata, &query->trouble) < 0)
			leaders->metadata = NULL;
	}
	if (!leaders->metadata) {
		if (!query->trouble.text[0])
			trouble_set(&query->trouble, "kafka: no metadata of topic %s", query->topic);
		return -1;
	}
	found = find_topic(leaders->metadata, query->topic);
	for (int i = 0; found && i < found->partition_cnt; i++) {
		if (found->partitions[i].id != query->partition)
			continue;
		if (found->partitions[i].leader < 0)
			trouble_set(&query->trouble, "%s/%d has no leader", query->topic, query->partition);
		return found->partitions[i].leader;
	}
	trouble_set(&query->trouble, "%s/%d does not exist", query->topic, query->partition);
	return -1;
}

static void find_leaders(struct kafka_client *client, struct offset_query *queries, size_t count, int32_t *id)
{
	struct leaders leaders = { 0 };

	for (size_t i = 0; i < count; i++)
		id[i] = leader_of(client, &leaders, &queries[i]);
	if (leaders.metadata)
		rd_kafka_metadata_destroy(leaders.metadata);
}

static int64_t timestamp_of(enum offset_kind kind, const struct offset_query *query)
{
	switch (kind) {
	case OFFSET_LOG_START: return RD_KAFKA_OFFSET_BEGINNING;
	case OFFSET_AT_TIME: return query->time_ms;
	default: return RD_KAFKA_OFFSET_END;
	}
}

/* What the list says, into the queries that wait for it. A partition that may do better later goes on waiting. */
static void take_answers(struct kafka_client *client, enum offset_kind kind,
			 const rd_kafka_topic_partition_list_t *list, struct offset_query **asked)
{
	int64_t now = run_now_us(client->source->run);

	for (int i = 0; i < list->cnt; i++) {
		const rd_kafka_topic_partition_t *answer = &list->elems[i];
		struct offset_query *query = asked[i];

		query->trouble.text[0] = '\0';
		if (answer->err || FAULT(KAFKA_OFFSET)) {
			trouble_set(&query->trouble, "%s/%d: %s", query->topic, query->partition,
				    kafka_client_words(client, answer->err));
		} else if (answer->offset < 0 && !(kind == OFFSET_AT_TIME && answer->offset == RD_KAFKA_OFFSET_END)) {
			trouble_set(&query->trouble, "%s/%d: answered with offset %lld", query->topic, query->partition,
				    (long long)answer->offset);
		} else {
			query->offset = answer->offset;
			query->at_us = now;
		}
	}
}

/* Asks one leader for all its partitions that have no answer yet. True: nothing is left that waiting could help. */
static bool ask_leader(struct kafka_client *client, enum offset_kind kind, struct offset_query **asked, size_t count)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
	rd_kafka_resp_err_t err;
	bool settled = true;

	for (size_t i = 0; i < count; i++)
		rd_kafka_topic_partition_list_add(list, asked[i]->topic, asked[i]->partition)->offset =
			timestamp_of(kind, asked[i]);
	err = FAULT(KAFKA_OFFSETS) ? RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED
				   : rd_kafka_offsets_for_times(client->rk, list, LEADER_MS);
	if (err) {
		for (size_t i = 0; i < count; i++)
			trouble_set(&asked[i]->trouble, "%s/%d: %s", asked[i]->topic, asked[i]->partition,
				    kafka_client_words(client, err));
		settled = !kafka_err_passes(err);
	} else {
		take_answers(client, kind, list, asked);
		for (int i = 0; i < list->cnt; i++)
			settled = settled && !kafka_err_passes(list->elems[i].err);
	}
	rd_kafka_topic_partition_list_destroy(list);
	return settled;
}

/* One leader's share of the queries without an answer. */
static size_t share_of(int32_t leader, const int32_t *leaders, struct offset_query *queries, size_t count,
		       struct offset_query **asked)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (leaders[i] == leader && queries[i].offset == UNKNOWN)
			asked[n++] = &queries[i];
	return n;
}

static bool is_first(const int32_t *leaders, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (leaders[j] == leaders[i])
			return false;
	return true;
}

/* One round over all leaders. */
static bool ask_all(struct kafka_client *client, enum offset_kind kind, struct offset_query *queries, size_t count)
{
	int32_t *leaders = xarray(count, sizeof(*leaders));
	struct offset_query **asked = xarray(count, sizeof(struct offset_query *));
	bool settled = true;

	find_leaders(client, queries, count, leaders);
	for (size_t i = 0; i < count && !run_stopped(client->source->run); i++) {
		size_t n = is_first(leaders, i) ? share_of(leaders[i], leaders, queries, count, asked) : 0;

		if (n > 0 && leaders[i] < 0)
			settled = false;
		else if (n > 0 && !ask_leader(client, kind, asked, n))
			settled = false;
	}
	free(asked);
	free(leaders);
	return settled;
}

/* No record is that young: the answer is the end. */
static int ends_for_times(struct source *base, struct offset_query *queries, size_t count, struct trouble *t)
{
	for (size_t i = 0; i < count; i++) {
		struct offset_query end = { .topic = queries[i].topic, .partition = queries[i].partition };

		if (queries[i].offset != RD_KAFKA_OFFSET_END)
			continue;
		if (kafka_offsets(base, OFFSET_HIGH_WATERMARK, &end, 1, t) < 0)
			return -1;
		queries[i].offset = end.offset;
		queries[i].trouble = end.trouble;
	}
	return 0;
}

int kafka_offsets(struct source *base, enum offset_kind kind, struct offset_query *queries, size_t count,
		  struct trouble *t)
{
	struct kafka_source *source = kafka_source_of(base);
	enum isolation isolation = kind == OFFSET_LAST_STABLE ? ISOLATION_READ_COMMITTED : ISOLATION_READ_UNCOMMITTED;
	struct kafka_client *client = kafka_look_client(source, isolation, t);
	int64_t begun = run_tick_us(source->run);

	if (!client)
		return -1;
	for (size_t i = 0; i < count; i++) {
		queries[i].offset = UNKNOWN;
		queries[i].at_us = UNKNOWN;
		queries[i].trouble.text[0] = '\0';
	}
	while (count > 0 && !ask_all(client, kind, queries, count) &&
	       kafka_client_may_wait(client, kafka_source_until(source, begun)))
		rd_kafka_poll(client->rk, 100);
	for (size_t i = 0; i < count; i++)
		if (queries[i].offset == UNKNOWN && !queries[i].trouble.text[0])
			trouble_set(&queries[i].trouble, "%s/%d: not asked: stopped", queries[i].topic,
				    queries[i].partition);
	return kind == OFFSET_AT_TIME ? ends_for_times(base, queries, count, t) : 0;
}

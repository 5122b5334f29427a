/* Faults by requests to a real broker: partitions added, a topic made anew, records deleted past the commit. */
#include "fault.h"

#define TIMEOUT_MS 60000

/* Wait for an admin request's answer and die where it failed; the event is returned for what more it tells. */
static rd_kafka_event_t *answer(rd_kafka_queue_t *queue, const char *what)
{
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, TIMEOUT_MS);

	if (!event)
		die("%s: no answer", what);
	if (rd_kafka_event_error(event))
		die("%s: %s", what, rd_kafka_event_error_string(event));
	return event;
}

static void topic_must(const rd_kafka_topic_result_t **results, size_t n, const char *what)
{
	for (size_t i = 0; i < n; i++)
		if (rd_kafka_topic_result_error(results[i]))
			die("%s: %s", what, rd_kafka_err2str(rd_kafka_topic_result_error(results[i])));
}

/* Wait until the topic has this many partitions, each with a leader that tells its watermarks. */
static void settle(struct fault *f, int32_t partitions)
{
	int64_t until = tick_ms() + TIMEOUT_MS, low, high;

	while (kafka_partitions(f->reader, f->opt->common.topic) != partitions) {
		if (tick_ms() > until)
			die("%s does not come to %d partitions", f->opt->common.topic, partitions);
		sleep_ms(50);
	}
	for (int32_t p = 0; p < partitions; p++)
		while (rd_kafka_query_watermark_offsets(f->reader, f->opt->common.topic, p, &low, &high, 1000) &&
		       tick_ms() < until)
			sleep_ms(50);
}

static void count_facts(struct fault *f, int32_t after)
{
	buf_clear(&f->json);
	json_open(&f->json, NULL, '{');
	json_text(&f->json, "fault", f->opt->name);
	json_text(&f->json, "topic", f->opt->common.topic);
	json_int(&f->json, "before", f->history.partitions);
	json_int(&f->json, "after", after);
	json_close(&f->json, '}');
	json_print(&f->json);
}

void fault_partitions_added(struct fault *f)
{
	int32_t to = f->opt->to ? (int32_t)f->opt->to : f->history.partitions * 2;
	rd_kafka_queue_t *queue = rd_kafka_queue_new(f->reader);
	rd_kafka_NewPartitions_t *request;
	const rd_kafka_topic_result_t **results;
	rd_kafka_event_t *event;
	char why[256];
	size_t n;

	request = rd_kafka_NewPartitions_new(f->opt->common.topic, (size_t)to, why, sizeof(why));
	if (!request)
		die("partitions: %s", why);
	rd_kafka_CreatePartitions(f->reader, &request, 1, NULL, queue);
	event = answer(queue, "create partitions");
	results = rd_kafka_CreatePartitions_result_topics(rd_kafka_event_CreatePartitions_result(event), &n);
	topic_must(results, n, "create partitions");
	rd_kafka_event_destroy(event);
	rd_kafka_NewPartitions_destroy(request);
	rd_kafka_queue_destroy(queue);
	settle(f, to);
	count_facts(f, to);
}

static void topic_delete(struct fault *f, rd_kafka_queue_t *queue)
{
	rd_kafka_DeleteTopic_t *request = rd_kafka_DeleteTopic_new(f->opt->common.topic);
	const rd_kafka_topic_result_t **results;
	rd_kafka_event_t *event;
	size_t n;

	rd_kafka_DeleteTopics(f->reader, &request, 1, NULL, queue);
	event = answer(queue, "delete topic");
	results = rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &n);
	topic_must(results, n, "delete topic");
	rd_kafka_event_destroy(event);
	rd_kafka_DeleteTopic_destroy(request);
	settle(f, 0);
}

/* Deleted and created again with --to partitions, by default as many as before. */
void fault_topic_recreated(struct fault *f)
{
	int32_t to = f->opt->to ? (int32_t)f->opt->to : f->history.partitions;
	rd_kafka_queue_t *queue = rd_kafka_queue_new(f->reader);
	rd_kafka_NewTopic_t *request;
	const rd_kafka_topic_result_t **results;
	rd_kafka_event_t *event;
	char why[256];
	size_t n;

	topic_delete(f, queue);
	request = rd_kafka_NewTopic_new(f->opt->common.topic, to, 1, why, sizeof(why));
	if (!request)
		die("topic: %s", why);
	rd_kafka_CreateTopics(f->reader, &request, 1, NULL, queue);
	event = answer(queue, "create topic");
	results = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &n);
	topic_must(results, n, "create topic");
	rd_kafka_event_destroy(event);
	rd_kafka_NewTopic_destroy(request);
	rd_kafka_queue_destroy(queue);
	settle(f, to);
	count_facts(f, to);
}

static void records_delete(struct fault *f, int32_t partition, int64_t before)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(f->reader);
	const rd_kafka_topic_partition_list_t *done;
	rd_kafka_DeleteRecords_t *request;
	rd_kafka_event_t *event;

	rd_kafka_topic_partition_list_add(list, f->opt->common.topic, partition)->offset = before;
	request = rd_kafka_DeleteRecords_new(list);
	rd_kafka_DeleteRecords(f->reader, &request, 1, NULL, queue);
	event = answer(queue, "delete records");
	done = rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event));
	if (done->elems[0].err)
		die("delete records: %s", rd_kafka_err2str(done->elems[0].err));
	rd_kafka_event_destroy(event);
	rd_kafka_DeleteRecords_destroy(request);
	rd_kafka_queue_destroy(queue);
	rd_kafka_topic_partition_list_destroy(list);
}

static int64_t count_between(const struct fault *f, int32_t partition, int64_t start, int64_t end)
{
	int64_t n = 0;

	for (size_t i = 0; i < f->history.count; i++) {
		const struct past *r = &f->history.records[i];

		n += r->partition == partition && !r->aborted && start <= r->offset && r->offset < end;
	}
	return n;
}

/* The log start passes the commit by --by offsets, or goes to the end. */
void fault_commit_below_log(struct fault *f)
{
	int32_t p = f->opt->partition < 0 ? 0 : (int32_t)f->opt->partition;
	int64_t low, high, committed = fault_committed(f, p), start;

	kafka_watermarks(f->reader, f->opt->common.topic, p, &low, &high);
	start = f->opt->by ? committed + f->opt->by : high;
	if (committed < 0 || start > high || start <= committed)
		die("nothing lies between the commit %lld and the end %lld of partition %d", (long long)committed,
		    (long long)high, p);
	records_delete(f, p, start);
	buf_clear(&f->json);
	json_open(&f->json, NULL, '{');
	json_text(&f->json, "fault", f->opt->name);
	json_text(&f->json, "topic", f->opt->common.topic);
	json_text(&f->json, "group", f->opt->common.group);
	json_int(&f->json, "partition", p);
	json_int(&f->json, "committed", committed);
	json_int(&f->json, "log_start", start);
	json_int(&f->json, "records", count_between(f, p, committed, start));
	json_close(&f->json, '}');
	json_print(&f->json);
}

/* The group forgets a partition, or all of them. */
void fault_commit_deleted(struct fault *f)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(f->reader);
	rd_kafka_DeleteConsumerGroupOffsets_t *request;

	buf_clear(&f->json);
	json_open(&f->json, NULL, '{');
	json_text(&f->json, "fault", f->opt->name);
	json_text(&f->json, "topic", f->opt->common.topic);
	json_text(&f->json, "group", f->opt->common.group);
	json_open(&f->json, "partitions", '[');
	for (int32_t p = 0; p < f->history.partitions; p++) {
		if (f->opt->partition >= 0 && f->opt->partition != p)
			continue;
		json_open(&f->json, NULL, '{');
		json_int(&f->json, "partition", p);
		json_int(&f->json, "before", fault_committed(f, p));
		json_close(&f->json, '}');
		rd_kafka_topic_partition_list_add(list, f->opt->common.topic, p);
	}
	request = rd_kafka_DeleteConsumerGroupOffsets_new(f->opt->common.group, list);
	rd_kafka_DeleteConsumerGroupOffsets(f->reader, &request, 1, NULL, queue);
	rd_kafka_event_destroy(answer(queue, "delete commits"));
	rd_kafka_DeleteConsumerGroupOffsets_destroy(request);
	rd_kafka_queue_destroy(queue);
	rd_kafka_topic_partition_list_destroy(list);
	json_close(&f->json, ']');
	json_close(&f->json, '}');
	json_print(&f->json);
}

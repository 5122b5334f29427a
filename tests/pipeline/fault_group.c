/* Faults on epochs and on the group's commits. */
#include "fault.h"

#include <inttypes.h>
#include <stdio.h>

#include "keytext.h"

/* The partition that --partition names, 0 if none. */
static int32_t chosen(const struct fault *f)
{
	if (f->opt->partition >= f->history.partitions)
		die_usage("--partition must lie in [0,%d)", f->history.partitions);
	return f->opt->partition < 0 ? 0 : (int32_t)f->opt->partition;
}

static void epoch_key(const struct fault *f, struct buf *key)
{
	keytext_epoch(&f->opt->common, chosen(f), key);
}

static void epoch_facts(struct fault *f, const struct buf *key, struct bytes before, struct bytes after)
{
	buf_clear(&f->json);
	json_open(&f->json, NULL, '{');
	json_text(&f->json, "fault", f->opt->name);
	json_text(&f->json, "topic", f->opt->common.topic);
	json_int(&f->json, "partition", chosen(f));
	json_bytes(&f->json, "redis_key", buf_bytes(key));
	json_bytes(&f->json, "before", before);
	json_bytes(&f->json, "after", after);
	json_close(&f->json, '}');
	json_print(&f->json);
}

/* Replace an epoch by a text, or delete it where the text is NULL; the facts are printed. */
static void epoch_replace(struct fault *f, const char *text)
{
	struct buf key = { 0 };
	redisReply *before;

	epoch_key(f, &key);
	before = redis_run(f->redis, REDIS_ARGS(bytes_of("GET"), buf_bytes(&key)));
	if (text)
		redis_number(f->redis, REDIS_ARGS(bytes_of("SET"), buf_bytes(&key), bytes_of(text)));
	else
		redis_number(f->redis, REDIS_ARGS(bytes_of("DEL"), buf_bytes(&key)));
	epoch_facts(f, &key, redis_bytes(before), bytes_of(text));
	freeReplyObject(before);
	buf_release(&key);
}

void fault_epoch_deleted(struct fault *f)
{
	epoch_replace(f, NULL);
}

void fault_epoch_malformed(struct fault *f)
{
	epoch_replace(f, f->opt->value ? f->opt->value : "abc");
}

/* One lower, or by --by. */
void fault_epoch_lowered(struct fault *f)
{
	struct buf key = { 0 };
	redisReply *reply;
	char text[24];
	int64_t epoch;

	epoch_key(f, &key);
	reply = redis_run(f->redis, REDIS_ARGS(bytes_of("GET"), buf_bytes(&key)));
	if (!parse_int64(redis_bytes(reply), &epoch))
		die("%s holds no epoch", key.data);
	snprintf(text, sizeof(text), "%" PRId64, epoch - (f->opt->by ? f->opt->by : 1));
	freeReplyObject(reply);
	buf_release(&key);
	epoch_replace(f, text);
}

static void commit(struct fault *f, int32_t partition, int64_t offset)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_resp_err_t err;

	rd_kafka_topic_partition_list_add(list, f->opt->common.topic, partition)->offset = offset;
	err = rd_kafka_commit(f->reader, list, 0);
	if (err)
		die("commit %s/%d: %s (are there workers in the group?)", f->opt->common.topic, partition,
		    rd_kafka_err2str(err));
	rd_kafka_topic_partition_list_destroy(list);
}

static void commit_facts(struct fault *f, int32_t partition, int64_t before, int64_t after)
{
	json_open(&f->json, NULL, '{');
	json_int(&f->json, "partition", partition);
	json_int(&f->json, "before", before);
	json_int(&f->json, "after", after);
	json_close(&f->json, '}');
}

static bool is_chosen(const struct fault *f, int32_t partition)
{
	return f->opt->partition < 0 || f->opt->partition == partition;
}

static void commits_begin(struct fault *f)
{
	buf_clear(&f->json);
	json_open(&f->json, NULL, '{');
	json_text(&f->json, "fault", f->opt->name);
	json_text(&f->json, "topic", f->opt->common.topic);
	json_text(&f->json, "group", f->opt->common.group);
	json_open(&f->json, "partitions", '[');
}

/* The binding records of a subject above its fence, all of them where it has none. */
static int64_t unwritten(struct fault *f, const struct subject *s, const struct fence *fence, int64_t *first)
{
	int64_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (!fault_is_binding(f, s->records[i]) || (fence && s->records[i]->offset <= fence->offset))
			continue;
		if (!n++)
			*first = s->records[i]->offset;
	}
	return n;
}

/* The keys of the chosen partitions whose newest record is not in Redis. */
static void unwritten_facts(struct fault *f)
{
	int64_t records = 0, keys = 0, first = -1, n;

	json_open(&f->json, "keys", '[');
	for (size_t i = 0; i < f->history.subjects_count; i++) {
		const struct subject *s = &f->history.subjects[i];
		const struct past *newest = fault_newest(f, s);
		struct fence fence;
		bool whole;

		if (!newest || !is_chosen(f, newest->partition))
			continue;
		whole = fault_fence_of(f, s->key, &fence);
		n = unwritten(f, s, whole ? &fence : NULL, &first);
		if (!n)
			continue;
		keys++;
		records += n;
		json_open(&f->json, NULL, '{');
		json_bytes(&f->json, "key", s->key);
		json_hex(&f->json, "key_hex", s->key);
		json_int(&f->json, "partition", newest->partition);
		json_int(&f->json, "fence", whole ? fence.offset : -1);
		json_int(&f->json, "newest", newest->offset);
		json_int(&f->json, "lost", n);
		json_int(&f->json, "first_lost", first);
		json_close(&f->json, '}');
	}
	json_close(&f->json, ']');
	json_int(&f->json, "keys_count", keys);
	json_int(&f->json, "records", records);
}

/* The worker commits to the end, and what it had not written yet is gone when it dies. */
void fault_commit_before_writes(struct fault *f)
{
	commits_begin(f);
	for (int32_t p = 0; p < f->history.partitions; p++) {
		int64_t low, high, before;

		if (!is_chosen(f, p))
			continue;
		before = fault_committed(f, p);
		kafka_watermarks(f->reader, f->opt->common.topic, p, &low, &high);
		commit(f, p, high);
		commit_facts(f, p, before, high);
	}
	json_close(&f->json, ']');
	unwritten_facts(f);
	json_close(&f->json, '}');
	json_print(&f->json);
}

/* Move the commit of one partition, and print it. */
static void commit_moved(struct fault *f, int32_t partition, int64_t before, int64_t after)
{
	commit(f, partition, after);
	commits_begin(f);
	commit_facts(f, partition, before, after);
	json_close(&f->json, ']');
	json_close(&f->json, '}');
	json_print(&f->json);
}

/* Above the high watermark, by one or --by. */
void fault_commit_beyond_end(struct fault *f)
{
	int32_t p = chosen(f);
	int64_t low, high;

	kafka_watermarks(f->reader, f->opt->common.topic, p, &low, &high);
	commit_moved(f, p, fault_committed(f, p), high + (f->opt->by ? f->opt->by : 1));
}

/* Back by one or --by, as a group that was reset. */
void fault_commit_lowered(struct fault *f)
{
	int32_t p = chosen(f);
	int64_t before = fault_committed(f, p);
	int64_t by = f->opt->by ? f->opt->by : 1;

	if (before < by)
		die("the commit of partition %d is %lld", p, (long long)before);
	commit_moved(f, p, before, before - by);
}

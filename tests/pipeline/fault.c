/* What the faults share: looking at fences and records, and beginning a line of facts. */
#include "fault.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "keytext.h"

void fault_redis_key(const struct fault *f, struct bytes key, struct buf *b)
{
	if (!keytext_state(&f->opt->common, key, b))
		die("the key does not have the format %s", f->opt->common.key_format);
}

bool fault_fence_of(struct fault *f, struct bytes key, struct fence *to)
{
	struct buf name = { 0 };
	redisReply *reply;
	bool whole;

	fault_redis_key(f, key, &name);
	redis_queue(f->redis, REDIS_ARGS(bytes_of("HMGET"), buf_bytes(&name), bytes_of(f->opt->common.field_partition),
					 bytes_of(f->opt->common.field_offset)));
	reply = redis_reply(f->redis);
	whole = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
		parse_int64(redis_bytes(reply->element[0]), &to->partition) &&
		parse_int64(redis_bytes(reply->element[1]), &to->offset);
	freeReplyObject(reply);
	buf_release(&name);
	return whole;
}

void fault_set(struct fault *f, struct bytes key, const char *field, struct bytes value)
{
	struct buf name = { 0 };

	fault_redis_key(f, key, &name);
	redis_number(f->redis, REDIS_ARGS(bytes_of("HSET"), buf_bytes(&name), bytes_of(field), value));
	buf_release(&name);
}

void fault_set_int(struct fault *f, struct bytes key, const char *field, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	fault_set(f, key, field, bytes_of(text));
}

int32_t fault_home(const struct fault *f, struct bytes key)
{
	return kafka_home(key, f->history.partitions);
}

bool fault_is_binding(const struct fault *f, const struct past *r)
{
	if (r->aborted || !r->key.data || r->partition != fault_home(f, r->key))
		return false;
	if (!r->value.data)
		return f->opt->tombstones == TOMBSTONES_APPLY;
	return !f->opt->poison || r->value.len < 6 || memcmp(r->value.data, "poison", 6);
}

const struct past *fault_newest(const struct fault *f, const struct subject *s)
{
	for (size_t i = s->count; i-- > 0;)
		if (fault_is_binding(f, s->records[i]))
			return s->records[i];
	return NULL;
}

void fault_facts(struct fault *f, const struct subject *s)
{
	const struct past *newest = fault_newest(f, s);
	struct buf name = { 0 };

	buf_clear(&f->json);
	json_open(&f->json, NULL, '{');
	json_text(&f->json, "fault", f->opt->name);
	json_text(&f->json, "topic", f->opt->common.topic);
	json_bytes(&f->json, "key", s->key);
	json_hex(&f->json, "key_hex", s->key);
	fault_redis_key(f, s->key, &name);
	json_bytes(&f->json, "redis_key", buf_bytes(&name));
	json_int(&f->json, "partition", fault_home(f, s->key));
	json_int(&f->json, "newest", newest ? newest->offset : -1);
	buf_release(&name);
}

void fault_facts_fence(struct fault *f, const char *name, struct fence fence)
{
	json_open(&f->json, name, '{');
	json_int(&f->json, "partition", fence.partition);
	json_int(&f->json, "offset", fence.offset);
	json_close(&f->json, '}');
}

static void keep_offset(const rd_kafka_message_t *m, void *context)
{
	*(int64_t *)context = m->offset;
}

int64_t fault_produce(struct fault *f, struct bytes key, int32_t partition, struct bytes value)
{
	int64_t offset = -1;
	struct sink sink = { .seen = keep_offset, .context = &offset };

	sink_open(&sink, NULL, &f->opt->common);
	sink_meet(&sink, f->opt->common.topic);
	sink_produce(&sink, &(struct outgoing){ .topic = f->opt->common.topic,
						.partition = partition,
						.key = key,
						.value = value });
	sink_flush(&sink);
	sink_close(&sink);
	return offset;
}

int64_t fault_committed(struct fault *f, int32_t partition)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_resp_err_t err;
	int64_t offset;

	opts_need(f->opt->common.group, "group");
	rd_kafka_topic_partition_list_add(list, f->opt->common.topic, partition);
	err = rd_kafka_committed(f->reader, list, 30000);
	if (err)
		die("committed offsets of %s: %s", f->opt->common.group, rd_kafka_err2str(err));
	offset = list->elems[0].offset < 0 ? -1 : list->elems[0].offset;
	rd_kafka_topic_partition_list_destroy(list);
	return offset;
}

/* Faults on one key's fence and value. */
#include "fault.h"

#include <inttypes.h>
#include <stdio.h>

/* The binding records of a subject at or below an offset; the caller frees with free through buf_release. */
static size_t binding_until(const struct fault *f, const struct subject *s, int64_t offset, struct buf *to)
{
	size_t n = 0;

	buf_clear(to);
	for (size_t i = 0; i < s->count; i++) {
		if (s->records[i]->offset > offset || !fault_is_binding(f, s->records[i]))
			continue;
		buf_add(to, &s->records[i], sizeof(s->records[i]));
		n++;
	}
	return n;
}

/* A delete between two records of a key: the fold begins anew after it. */
static bool is_restart(const struct fault *f, const struct past *r)
{
	return f->opt->tombstones == TOMBSTONES_DELETE && !r->aborted && !r->value.data &&
	       r->partition == fault_home(f, r->key);
}

/* The value that the state had when its fence stood at offset. */
static void value_at(const struct fault *f, const struct subject *s, int64_t offset, struct buf *to)
{
	int64_t count = 0, sum = 0, number;

	buf_clear(to);
	for (size_t i = 0; i < s->count; i++) {
		const struct past *r = s->records[i];

		if (r->offset > offset)
			continue;
		if (is_restart(f, r))
			count = sum = 0;
		if (!fault_is_binding(f, r))
			continue;
		count++;
		if (parse_int64(r->value, &number))
			sum += number;
		if (f->opt->state == STATE_OPAQUE || f->opt->state == STATE_LAST) {
			buf_clear(to);
			buf_add(to, r->value.data, r->value.len);
		}
	}
	if (f->opt->state == STATE_COUNT || f->opt->state == STATE_SUM)
		buf_format(to, "%" PRId64, f->opt->state == STATE_COUNT ? count : sum);
}

static void facts_lost(struct fault *f, const struct past *const *lost, size_t n)
{
	json_int(&f->json, "lost", (int64_t)n);
	json_int(&f->json, "first_lost", lost[0]->offset);
	json_int(&f->json, "last_lost", lost[n - 1]->offset);
	json_open(&f->json, "lost_offsets", '[');
	for (size_t i = 0; i < n; i++)
		json_int(&f->json, NULL, lost[i]->offset);
	json_close(&f->json, ']');
}

/* The state of some moments ago, as after a failover: the last --records records of the key are lost. */
bool fault_fence_back(struct fault *f, const struct subject *s)
{
	size_t back = (size_t)f->opt->records;
	struct buf list = { 0 }, value = { 0 };
	const struct past *const *records;
	struct fence fence;
	size_t n;

	if (!fault_fence_of(f, s->key, &fence) || fence.partition != fault_home(f, s->key))
		return false;
	n = binding_until(f, s, fence.offset, &list);
	if (!back || n <= back) {
		buf_release(&list);
		return false;
	}
	records = (const struct past *const *)(const void *)list.data;
	fault_facts(f, s);
	fault_facts_fence(f, "fence_before", fence);
	fence.offset = records[n - back - 1]->offset;
	fault_facts_fence(f, "fence", fence);
	facts_lost(f, records + n - back, back);
	value_at(f, s, fence.offset, &value);
	fault_set_int(f, s->key, f->opt->common.field_offset, fence.offset);
	fault_set(f, s->key, f->opt->common.field_value, buf_bytes(&value));
	buf_release(&value);
	buf_release(&list);
	return true;
}

/* Begin the facts of a fault on a key whose fence is whole; false where it is not. */
static bool begin(struct fault *f, const struct subject *s, struct fence *fence)
{
	if (!fault_fence_of(f, s->key, fence) || !fault_newest(f, s))
		return false;
	fault_facts(f, s);
	fault_facts_fence(f, "fence_before", *fence);
	return true;
}

/* Run a command whose first two words are its name and the key's Redis key. */
static void on_hash(struct fault *f, struct bytes key, const char *command, struct bytes more)
{
	struct buf name = { 0 };

	fault_redis_key(f, key, &name);
	redis_number(f->redis, more.data ? 3 : 2, (struct bytes[]){ bytes_of(command), buf_bytes(&name), more });
	buf_release(&name);
}

bool fault_fence_lost(struct fault *f, const struct subject *s)
{
	struct fence fence;

	if (!begin(f, s, &fence))
		return false;
	on_hash(f, s->key, "DEL", bytes_of(NULL));
	return true;
}

bool fault_fence_no_field(struct fault *f, const struct subject *s)
{
	const char *field = f->opt->field ? f->opt->field : f->opt->common.field_offset;
	struct fence fence;

	if (!begin(f, s, &fence))
		return false;
	json_text(&f->json, "field", field);
	on_hash(f, s->key, "HDEL", bytes_of(field));
	return true;
}

bool fault_fence_non_numeric(struct fault *f, const struct subject *s)
{
	const char *field = f->opt->field ? f->opt->field : f->opt->common.field_offset;
	const char *value = f->opt->value ? f->opt->value : "abc";
	struct fence fence;

	if (!begin(f, s, &fence))
		return false;
	json_text(&f->json, "field", field);
	json_bytes(&f->json, "value", bytes_of(value));
	fault_set(f, s->key, field, bytes_of(value));
	return true;
}

bool fault_fence_wrong_type(struct fault *f, const struct subject *s)
{
	struct fence fence;

	if (!begin(f, s, &fence))
		return false;
	on_hash(f, s->key, "DEL", bytes_of(NULL));
	on_hash(f, s->key, "SET", bytes_of("not a hash"));
	return true;
}

/* Move a whole fence and say so. */
static void move(struct fault *f, const struct subject *s, struct fence to)
{
	fault_facts_fence(f, "fence", to);
	fault_set_int(f, s->key, f->opt->common.field_partition, to.partition);
	fault_set_int(f, s->key, f->opt->common.field_offset, to.offset);
}

/* At the high watermark or --by above it: an offset that no record has yet. */
bool fault_fence_ahead(struct fault *f, const struct subject *s)
{
	struct fence fence;
	int64_t low, high;

	if (!begin(f, s, &fence))
		return false;
	kafka_watermarks(f->reader, f->opt->common.topic, fault_home(f, s->key), &low, &high);
	json_int(&f->json, "high_watermark", high);
	move(f, s, (struct fence){ fault_home(f, s->key), high + f->opt->by });
	return true;
}

/* On the first record of another key above the newest of this one, in the same partition. */
bool fault_fence_foreign(struct fault *f, const struct subject *s)
{
	const struct past *newest = fault_newest(f, s), *best = NULL;
	struct fence fence;

	for (size_t i = 0; newest && i < f->history.count; i++) {
		const struct past *r = &f->history.records[i];

		if (r->partition == newest->partition && r->offset > newest->offset && r->key.data && !r->aborted &&
		    bytes_compare(r->key, s->key) && (!best || r->offset < best->offset))
			best = r;
	}
	if (!best || !begin(f, s, &fence))
		return false;
	json_bytes(&f->json, "foreign_key", best->key);
	json_hex(&f->json, "foreign_key_hex", best->key);
	move(f, s, (struct fence){ best->partition, best->offset });
	return true;
}

/* On a record of this key that was aborted after its newest committed one. */
bool fault_fence_aborted(struct fault *f, const struct subject *s)
{
	const struct past *newest = fault_newest(f, s), *best = NULL;
	struct fence fence;

	for (size_t i = 0; newest && i < s->count; i++)
		if (s->records[i]->aborted && s->records[i]->partition == newest->partition &&
		    s->records[i]->offset > newest->offset)
			best = s->records[i];
	if (!best || !begin(f, s, &fence))
		return false;
	move(f, s, (struct fence){ best->partition, best->offset });
	return true;
}

bool fault_value_changed(struct fault *f, const struct subject *s)
{
	const char *value = f->opt->value ? f->opt->value : "changed";
	struct fence fence;

	if (!begin(f, s, &fence))
		return false;
	fault_facts_fence(f, "fence", fence);
	json_bytes(&f->json, "value", bytes_of(value));
	fault_set(f, s->key, f->opt->common.field_value, bytes_of(value));
	return true;
}

/* As if the newest record had been applied once more; --by another difference. */
bool fault_count_twice(struct fault *f, const struct subject *s)
{
	struct buf name = { 0 };
	struct fence fence;
	char by[24];
	int64_t after;

	if (!begin(f, s, &fence))
		return false;
	snprintf(by, sizeof(by), "%" PRId64, f->opt->by ? f->opt->by : 1);
	fault_redis_key(f, s->key, &name);
	after = redis_number(f->redis, REDIS_ARGS(bytes_of("HINCRBY"), buf_bytes(&name),
						  bytes_of(f->opt->common.field_value), bytes_of(by)));
	buf_release(&name);
	fault_facts_fence(f, "fence", fence);
	json_int(&f->json, "before", after - (f->opt->by ? f->opt->by : 1));
	json_int(&f->json, "after", after);
	return true;
}

bool fault_ttl_short(struct fault *f, const struct subject *s)
{
	struct fence fence;
	char ttl[24];

	if (!begin(f, s, &fence))
		return false;
	snprintf(ttl, sizeof(ttl), "%" PRId64, f->opt->ttl_ms);
	on_hash(f, s->key, "PEXPIRE", bytes_of(ttl));
	json_int(&f->json, "ttl_ms", f->opt->ttl_ms);
	return true;
}

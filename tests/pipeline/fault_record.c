/* Faults by records in a wrong partition, and by keys that were not there before. */
#include "fault.h"

/* Produce a record of the key to a partition where it does not belong; false where it does belong there. */
static bool misplace(struct fault *f, const struct subject *s, int32_t partition)
{
	int64_t offset;

	if (partition == fault_home(f, s->key))
		return false;
	offset = fault_produce(f, s->key, partition, bytes_of(f->opt->value ? f->opt->value : "1"));
	fault_facts(f, s);
	json_int(&f->json, "home", fault_home(f, s->key));
	json_open(&f->json, "record", '{');
	json_int(&f->json, "partition", partition);
	json_int(&f->json, "offset", offset);
	json_close(&f->json, '}');
	return true;
}

bool fault_record_crc32(struct fault *f, const struct subject *s)
{
	return s->key.len && misplace(f, s, kafka_crc32(s->key, f->history.partitions));
}

bool fault_record_old_count(struct fault *f, const struct subject *s)
{
	if (f->opt->old_partitions < 1 || f->opt->old_partitions > f->history.partitions)
		die_usage("--old-partitions must lie in [1,%d]", f->history.partitions);
	return misplace(f, s, kafka_home(s->key, (int32_t)f->opt->old_partitions));
}

/* A key that nobody has used yet. */
static struct subject new_subject(const struct fault *f, const char *word, struct buf *b)
{
	if (f->opt->on_key)
		buf_text(b, f->opt->on_key);
	else
		buf_format(b, "fault-%s-%lld", word, (long long)f->opt->nth);
	if (history_subject(&f->history, buf_bytes(b)))
		die("the key %s has records already", b->data);
	return (struct subject){ .key = buf_bytes(b) };
}

static void write_state(struct fault *f, struct bytes key, struct fence fence, const char *value)
{
	fault_set(f, key, f->opt->common.field_value, bytes_of(value));
	fault_set_int(f, key, f->opt->common.field_partition, fence.partition);
	fault_set_int(f, key, f->opt->common.field_offset, fence.offset);
}

/* A new key's only record lies beside its home partition, and it was applied as if it belonged there. */
void fault_fence_off_home(struct fault *f)
{
	struct buf key = { 0 };
	struct subject s = new_subject(f, "off-home", &key);
	int32_t home = fault_home(f, s.key);
	int32_t partition = (home + 1) % f->history.partitions;
	const char *value = f->opt->value ? f->opt->value : "1";
	struct fence fence = { partition, -1 };

	if (partition == home)
		die("a topic of one partition has no wrong one");
	fence.offset = fault_produce(f, s.key, partition, bytes_of(value));
	write_state(f, s.key, fence, value);
	fault_facts(f, &s);
	json_int(&f->json, "home", home);
	fault_facts_fence(f, "fence", fence);
	json_close(&f->json, '}');
	json_print(&f->json);
	buf_release(&key);
}

/* A state whose key was never produced. */
void fault_fence_orphan(struct fault *f)
{
	struct buf key = { 0 };
	struct subject s = new_subject(f, "orphan", &key);
	struct fence fence = { fault_home(f, s.key), 0 };

	write_state(f, s.key, fence, f->opt->value ? f->opt->value : "1");
	fault_facts(f, &s);
	fault_facts_fence(f, "fence", fence);
	json_close(&f->json, '}');
	json_print(&f->json);
	buf_release(&key);
}

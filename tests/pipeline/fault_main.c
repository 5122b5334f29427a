/*
 * Does one named harm and prints what an audit must find:
 *
 *   fault fence-back -b localhost:9092 -u /tmp/redis.sock -t orders -g orders-processor --nth 0 --records 2
 *
 * fault --list names the faults. Key faults take --key-text or --key-hex, or choose by --nth among the keys in the
 * order of their bytes, and go on for --count keys.
 */
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kind {
	const char *name;
	fault_on_key *on_key;
	fault_on_all *on_all;
	bool uncommitted; /* needs to know the aborted records */
	const char *help;
};

static const struct kind kinds[] = {
	{ "fence-back", fault_fence_back, NULL, false, "fence and value set back by --records records of the key" },
	{ "fence-lost", fault_fence_lost, NULL, false, "the hash deleted" },
	{ "fence-no-field", fault_fence_no_field, NULL, false, "a field deleted, the offset or --field" },
	{ "fence-non-numeric", fault_fence_non_numeric, NULL, false,
	  "the offset or --field set to \"abc\" or --value" },
	{ "fence-wrong-type", fault_fence_wrong_type, NULL, false, "the hash replaced by a string" },
	{ "fence-ahead", fault_fence_ahead, NULL, false, "at the high watermark, or --by above it" },
	{ "fence-foreign", fault_fence_foreign, NULL, false, "on a later record of another key" },
	{ "fence-off-home", NULL, fault_fence_off_home, false, "a new key's record in a wrong partition, applied" },
	{ "fence-aborted", fault_fence_aborted, NULL, true, "on an aborted record of the key" },
	{ "fence-orphan", NULL, fault_fence_orphan, false, "a hash whose key was never produced" },
	{ "value-changed", fault_value_changed, NULL, false, "value set to \"changed\" or --value" },
	{ "count-twice", fault_count_twice, NULL, false, "a count one higher, or by --by" },
	{ "ttl-short", fault_ttl_short, NULL, false, "the hash expires in --ttl milliseconds" },
	{ "epoch-deleted", NULL, fault_epoch_deleted, false, "the epoch of --partition" },
	{ "epoch-lowered", NULL, fault_epoch_lowered, false, "one lower, or by --by" },
	{ "epoch-malformed", NULL, fault_epoch_malformed, false, "set to \"abc\" or --value" },
	{ "record-crc32", fault_record_crc32, NULL, false, "a record of the key where CRC32 puts it" },
	{ "record-old-count", fault_record_old_count, NULL, false,
	  "a record of the key where --old-partitions put it" },
	{ "partitions-added", NULL, fault_partitions_added, false, "up to --to, by default twice as many" },
	{ "topic-recreated", NULL, fault_topic_recreated, false, "deleted and created again, with --to partitions" },
	{ "commit-before-writes", NULL, fault_commit_before_writes, false, "the group commits to the end" },
	{ "commit-beyond-end", NULL, fault_commit_beyond_end, false, "a commit above the high watermark, by --by" },
	{ "commit-lowered", NULL, fault_commit_lowered, false, "a commit set back by --by" },
	{ "commit-below-log", NULL, fault_commit_below_log, false, "records deleted past the commit, by --by or all" },
	{ "commit-deleted", NULL, fault_commit_deleted, false, "the group forgets --partition, or all" },
};

static void list_kinds(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		printf("%-22s %s\n", kinds[i].name, kinds[i].help);
}

static const struct kind *kind_of(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	die_usage("there is no fault \"%s\"; see --list", name);
}

struct words {
	const char *state, *tombstones;
	bool list;
	struct opt_list rest;
};

static void understand(struct fault_options *o, struct words *w)
{
	static const char *const states[] = { "opaque", "last", "count", "sum", NULL };
	static const char *const tombstones[] = { "apply", "ignore", "delete", NULL };

	if (w->list) {
		list_kinds();
		exit(0);
	}
	if (w->rest.count != 1)
		die_usage("one fault, please; see --list");
	o->name = w->rest.item[0];
	opts_need(o->common.brokers, "brokers");
	opts_need(o->common.topic, "topic");
	o->state = (enum state_kind)opts_choice("--state", w->state, states);
	o->tombstones = (enum tombstones)opts_choice("--tombstones", w->tombstones, tombstones);
	free(w->rest.item);
}

static void options_read(struct fault_options *o, int argc, char **argv)
{
	struct words words = { .state = "opaque", .tombstones = "apply" };
	const struct opt opts[] = {
		COMMON_KAFKA_OPTS(&o->common),
		COMMON_STATE_OPTS(&o->common),
		{ "list", OPT_FLAG, &words.list, "name the faults" },
		{ "state", OPT_TEXT, &words.state, "opaque, last, count or sum, as the worker" },
		{ "tombstones", OPT_TEXT, &words.tombstones, "apply, ignore or delete, as the worker" },
		{ "poison", OPT_FLAG, &o->poison, "the worker rejects poison" },
		{ "key-text", OPT_TEXT, &o->on_key, "the key to harm" },
		{ "key-hex", OPT_TEXT, &o->on_key_hex, "the key to harm, in hex" },
		{ "nth", OPT_INT, &o->nth, "begin at this key, in the order of the bytes, default 0" },
		{ "count", OPT_INT, &o->count, "how many keys, default 1" },
		{ "records", OPT_INT, &o->records, "fence-back: by how many records, default 1" },
		{ "by", OPT_INT, &o->by, "how far" },
		{ "field", OPT_TEXT, &o->field, "which field" },
		{ "value", OPT_TEXT, &o->value, "which value" },
		{ "partition", OPT_INT, &o->partition, "which partition" },
		{ "to", OPT_INT, &o->to, "to how many partitions" },
		{ "ttl", OPT_INT, &o->ttl_ms, "milliseconds, default 60000" },
		{ "old-partitions", OPT_INT, &o->old_partitions, "an older partition count" },
		OPTS_END,
	};

	opts_parse(opts, argc, argv, &words.rest);
	understand(o, &words);
}

static void harm_one(struct fault *f, const struct kind *kind, struct bytes key)
{
	const struct subject *s = history_subject(&f->history, key);

	if (!s)
		die("the key has no records");
	if (!kind->on_key(f, s))
		die("the key does not suit %s", kind->name);
	json_close(&f->json, '}');
	json_print(&f->json);
}

/* The first --count keys from the --nth on that suit the fault. */
static void harm_some(struct fault *f, const struct kind *kind)
{
	int64_t left = f->opt->count;

	for (size_t i = (size_t)f->opt->nth; left && i < f->history.subjects_count; i++) {
		if (!kind->on_key(f, &f->history.subjects[i]))
			continue;
		json_close(&f->json, '}');
		json_print(&f->json);
		left--;
	}
	if (left)
		die("%lld keys too few suit %s", (long long)left, kind->name);
}

static void harm(struct fault *f, const struct kind *kind)
{
	struct buf key = { 0 };

	if (kind->on_all) {
		kind->on_all(f);
	} else if (f->opt->on_key_hex) {
		if (!parse_hex(f->opt->on_key_hex, &key))
			die_usage("--key-hex: not hex");
		harm_one(f, kind, buf_bytes(&key));
	} else if (f->opt->on_key) {
		harm_one(f, kind, bytes_of(f->opt->on_key));
	} else {
		harm_some(f, kind);
	}
	buf_release(&key);
}

int main(int argc, char **argv)
{
	struct fault_options o = { .count = 1, .records = 1, .partition = -1, .ttl_ms = 60000 };
	struct fault f = { .opt = &o };
	const struct kind *kind;

	common_init(&o.common);
	options_read(&o, argc, argv);
	kind = kind_of(o.name);
	f.reader = kafka_reader(&o.common, "read_uncommitted");
	f.redis = redis_open(o.common.redis);
	history_read(&f.history, &o.common, kind->uncommitted);
	harm(&f, kind);
	history_release(&f.history);
	buf_release(&f.json);
	redisFree(f.redis);
	kafka_close(f.reader);
	free(o.common.properties.item);
	return 0;
}

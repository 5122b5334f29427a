/* Command lines by table: each program lists its options once, and usage and parsing follow from the list. */
#ifndef PIPELINE_OPTS_H
#define PIPELINE_OPTS_H

#include "util.h"

enum opt_type {
	OPT_TEXT, /* const char * */
	OPT_INT,  /* int64_t */
	OPT_REAL, /* double */
	OPT_FLAG, /* bool, set by its presence */
	OPT_LIST, /* struct opt_list, one more element each time */
};

struct opt {
	const char *name;
	enum opt_type type;
	void *to;
	const char *help;
};

struct opt_list {
	const char **item;
	size_t count;
};

/* What most programs need to know; the default values are set by common_init. */
struct common {
	const char *brokers, *redis, *topic, *group;
	const char *key, *key_format, *epoch;
	const char *field_value, *field_offset, *field_partition;
	const char *script;
	struct opt_list properties; /* librdkafka properties "name=value", the last word over all others */
};

void common_init(struct common *c);

#define COMMON_KAFKA_OPTS(c) \
	{ "brokers", OPT_TEXT, &(c)->brokers, "bootstrap servers (also -b)" }, \
	{ "topic", OPT_TEXT, &(c)->topic, "input topic (also -t)" }, \
	{ "property", OPT_LIST, &(c)->properties, "librdkafka property name=value (also -X)" }

#define COMMON_STATE_OPTS(c) \
	{ "redis", OPT_TEXT, &(c)->redis, "host:port, /path/of/socket, or a redis:// or unix:// URL (also -u)" }, \
	{ "group", OPT_TEXT, &(c)->group, "consumer group (also -g)" }, \
	{ "key", OPT_TEXT, &(c)->key, "Redis key of a state, default state:{key}" }, \
	{ "key-format", OPT_TEXT, &(c)->key_format, "raw, int32, int64, uuid, hex, base64 or json" }, \
	{ "epoch", OPT_TEXT, &(c)->epoch, "Redis key of an epoch, default epoch:{topic}:{partition}; empty: none" }, \
	{ "field-value", OPT_TEXT, &(c)->field_value, "field name of the value" }, \
	{ "field-offset", OPT_TEXT, &(c)->field_offset, "field name of the offset" }, \
	{ "field-partition", OPT_TEXT, &(c)->field_partition, "field name of the partition" }

#define OPTS_END { NULL, OPT_FLAG, NULL, NULL }

/*
 * Parse argv by the table, which OPTS_END ends; what is wrong, and --help, end the program with the usage text.
 * The words that are no options are returned in rest where rest is not NULL, else refused.
 */
void opts_parse(const struct opt *opts, int argc, char **argv, struct opt_list *rest);

/* Die as a usage error where a text option was not given. */
void opts_need(const char *value, const char *name);

/* The index of text in a list that NULL ends; dies naming what is valid. */
int opts_choice(const char *name, const char *text, const char *const *valid);

#endif

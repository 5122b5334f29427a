/*
 * config_read: how a mapping of the file becomes a struct. A section is a table of keys; each key has a reader, a
 * type and a standard value in the words of docs/config.md. The standard value is read by the same reader as one
 * from the file, so the three cannot drift apart.
 */
#ifndef INGEST_CONFIG_READ_H
#define INGEST_CONFIG_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ingest/config.h"
#include "ingest/config_yaml.h"
#include "sql/trouble.h"

struct reader {
	const char *name;                         /* of the file, for words */
	const char *folder;                       /* of the file, with its last slash; "" where it has none */
	const struct config_overrides *overrides; /* never NULL */
	const char *where;                        /* "pipeline orders"; NULL: top level */
	struct trouble *t;
};

struct rule;

/* Reads value into the struct at into. 0, or -1 with the reader's trouble filled. */
typedef int read_value(const struct reader *r, const struct rule *rule, const struct node *value, void *into);

struct rule {
	const char *key;
	read_value *read;
	size_t offset;              /* of the member in the section's struct; for the readers of this header */
	const char *type;           /* words */
	const char *standard;       /* read where the key is absent; NULL: the member keeps what it has */
	const char *otherwise;      /* words in its place where standard is NULL */
	bool required;
	int64_t least, most;        /* read_number and read_duration (ms): both inside */
	const char *const *words;   /* read_word: ended by NULL; the index is the value */
};

struct section {
	const char *name;           /* "pipelines" */
	const struct rule *rules;
	size_t count;
};

extern const struct section config_top_section, config_redis_section, config_pipeline_section, config_stream_section;

/* Reads a mapping (or nothing) into a struct. line is where the section begins. */
int section_read(const struct reader *r, const struct section *section, const struct node *map, int line, void *into);

/* "FILE:LINE: WHERE: words". Always -1. */
int reader_bad(const struct reader *r, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same, with "KEY: VALUE: words", the value as the file has it: never for secrets. Always -1. */
int reader_bad_value(const struct reader *r, const struct rule *rule, const struct node *value, const char *words);

/* Replaces ${NAME} in all values of the tree, and $${ by ${. */
int reader_expand(const struct reader *r, struct tree *tree);

/* Text of 1 to 4,095 bytes without control characters, into a char * that is freed first. */
read_value read_text;
/* The same; nothing and "" give NULL. */
read_value read_text_or_none;
/* A secret, or file:PATH of one (its last newline is dropped), into a char *. Nothing and "" give NULL. */
read_value read_secret;
/* A decimal integer, into an int64_t. */
read_value read_number;
/* yes or no, into a bool. */
read_value read_switch;
/* A duration, into an int64_t of ms. */
read_value read_duration;
/* One of rule->words, into an enum. */
read_value read_word;
/* A template, into a struct key_template *; nothing and "" give NULL. */
read_value read_template;
/* A list of topics, or one, into a struct names. */
read_value read_topics;

struct names {
	char **items;
	size_t count;
};

void names_free(struct names *names);
bool names_have(const struct names *names, const char *name);

/* The member of the struct at into that the rule is about. */
void *rule_member(const struct rule *rule, void *into);

/* The text of a node that must be text; NULL with the trouble filled. */
const char *value_text(const struct reader *r, const struct rule *rule, const struct node *value);

/* Whether text is what Kafka takes as a topic's name. */
bool topic_name_valid(const char *text);

/*
 * What file:PATH stands for; path is relative to the config's folder. NULL with *why filled in words that name the
 * path alone.
 */
char *secret_from_file(const struct reader *r, const char *path, struct trouble *why);

/* A path as the file means it: relative to its folder. The caller frees. */
char *path_from_file(const struct reader *r, const char *path);

/* A whole file of at most limit bytes, with a NUL behind it. NULL with t filled; the caller frees. */
char *read_whole_file(const char *path, size_t limit, size_t *size, struct trouble *t);

/* Decimal digits, no leading zero, with a minus or not. */
bool parse_number(const char *text, int64_t *number);

/* --- kafka (config_kafka.c) --------------------------------------------------------------------------------------- */

/* Appends the properties of a mapping to into, a struct properties at rule->offset. */
read_value read_kafka;
void properties_add(struct properties *properties, const char *name, const char *value);
void properties_append(struct properties *to, const struct properties *from);
void properties_free(struct properties *properties);
const char *properties_get(const struct properties *properties, const char *name);
/* Appends those of -F, then those of -X. */
int properties_override(struct properties *properties, const struct reader *r);

/* --- redis (config_redis.c, redis_url.c) -------------------------------------------------------------------------- */

struct redis_url {
	bool given, tls;
	char *host, *path, *user, *password;
	int port;
	int db; /* -1: not said */
};

/* Parses a URL. -1: t says what is wrong, and never shows the URL. url is freed first. */
int redis_url_parse(const char *text, struct redis_url *url, struct trouble *t);
void redis_url_free(struct redis_url *url);

/* One redis section as written. */
struct redis_part {
	bool given, none;
	int line;
	struct redis_url url;
	char *user, *password;
	int64_t db, rate; /* UNKNOWN: not said */
	bool plan_given, cluster_plan;
	struct tls_settings tls;
	const char *tls_key; /* a key about TLS that is given, and its line; NULL: none is */
	int tls_line;
};

/* Reads a mapping or "none" into a struct redis_part at rule->offset. */
read_value read_redis;
void redis_part_free(struct redis_part *part);

/*
 * Puts together the general section, the holder's own, and the command line (cli, parsed from -u; not given: none).
 * 1 with out filled; 0 where the holder has no Redis; -1.
 */
int redis_resolve(const struct reader *r, const struct redis_part *general, const struct redis_part *own,
		  const struct redis_url *cli, struct redis_config *out);
void redis_config_free(struct redis_config *redis);

/* --- drafts ------------------------------------------------------------------------------------------------------- */

struct pipeline_draft {
	struct pipeline_config p; /* first: becomes the config's */
	struct names topics, copartitioned;
	struct redis_part redis;
	const struct node *node;
};

struct stream_draft {
	struct stream_config s; /* first: becomes the config's */
	struct names excluded;
	struct redis_part redis;
};

struct draft {
	struct config c;
	struct properties kafka;
	struct redis_part redis;
	struct redis_url cli;
	struct pipeline_draft *pipelines;
	size_t pipeline_count;
	struct stream_draft *streams;
	size_t stream_count;
};

read_value read_pipelines; /* into a struct draft */
read_value read_streams;

/* Resolves Redis and Kafka of a pipeline, and refuses contradictions. */
int pipeline_finish(const struct reader *r, const struct draft *draft, struct pipeline_draft *pipeline);
int stream_finish(const struct reader *r, const struct draft *draft, struct stream_draft *stream);
void pipeline_config_free(struct pipeline_config *p);
void stream_config_free(struct stream_config *s);

/* Two pipelines that name the same Redis keys, and -u for two servers, are errors (config_overlap.c). */
int config_refuse_overlaps(const struct reader *r, const struct draft *draft);

#endif

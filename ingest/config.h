/*
 * config: the YAML file as a struct. Unknown or repeated keys, wrong types and contradictions are trouble with
 * file:line and what would be valid. ${NAME} in values (the environment; $${ is a literal ${) and file:PATH for
 * secrets are resolved here; secrets never leave this struct, and no trouble shows one. docs/config.md lists every key.
 * Relative paths (index, tls.*, file:PATH) are relative to the folder of the config file: a nightly job has an odd working
 * directory. Everything is owned by the config and freed by config_free.
 */
#ifndef INGEST_CONFIG_H
#define INGEST_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ingest/template.h"
#include "sql/placer.h"
#include "sql/run.h"
#include "sql/trouble.h"

/* Closed lists: name in C, word in YAML and in the index. */
#define SEVERITIES(X) X(INFO, "info") X(WARNING, "warning") X(ERROR, "error")
#define ISOLATIONS(X) X(READ_COMMITTED, "read_committed") X(READ_UNCOMMITTED, "read_uncommitted")
#define STATES(X) X(OPAQUE, "opaque") X(LAST, "last") X(COUNT, "count") X(SUM, "sum")
#define TOMBSTONE_RULES(X) X(APPLY, "apply") X(IGNORE, "ignore") X(DELETE, "delete")
#define REJECT_RULES(X) X(NONE, "none") X(DLQ, "dlq") X(SILENT, "silent")
#define FROM_KINDS(X) X(BEGINNING, "beginning") X(TIME, "time") X(OFFSETS, "offsets")
#define HORIZON_KINDS(X) X(COMMITTED, "committed") X(AGE, "age")

#define CONFIG_ENUM_SEVERITY(name, word) SEVERITY_##name,
enum severity { SEVERITIES(CONFIG_ENUM_SEVERITY) };
#define CONFIG_ENUM_ISOLATION(name, word) ISOLATION_##name,
enum isolation { ISOLATIONS(CONFIG_ENUM_ISOLATION) };
#define CONFIG_ENUM_STATE(name, word) STATE_##name,
enum state_kind { STATES(CONFIG_ENUM_STATE) };
#define CONFIG_ENUM_TOMBSTONES(name, word) TOMBSTONES_##name,
enum tombstones { TOMBSTONE_RULES(CONFIG_ENUM_TOMBSTONES) };
#define CONFIG_ENUM_REJECTS(name, word) REJECTS_##name,
enum rejects { REJECT_RULES(CONFIG_ENUM_REJECTS) };
#define CONFIG_ENUM_FROM(name, word) FROM_##name,
enum from_kind { FROM_KINDS(CONFIG_ENUM_FROM) };
#define CONFIG_ENUM_HORIZON(name, word) HORIZON_##name,
enum horizon_kind { HORIZON_KINDS(CONFIG_ENUM_HORIZON) };

/* Properties for librdkafka, in the order given; a later one wins. */
struct property {
	char *name, *value;
};

struct properties {
	struct property *items;
	size_t count;
};

/* With what TLS is spoken; of no use where it is not. Paths of PEM files; NULL: as OpenSSL is told elsewhere. */
struct tls_settings {
	char *ca;        /* whom to trust */
	char *cert, *key; /* who we are; both or neither */
	char *name;      /* what the server's certificate must name, and what is asked for (SNI); NULL: the host */
};

struct redis_config {
	char *host;          /* NULL for a unix socket */
	int port;
	char *path;          /* unix socket; NULL for TCP */
	char *user, *password; /* NULL: none. Secrets. */
	int db;
	bool tls;
	struct tls_settings tls_settings;
	int64_t rate;        /* keys a second; 0: unlimited */
	bool cluster_plan;   /* to be judged as if it were a cluster */
	char *address;       /* for people and the index: "host:port/db" or "unix:path/db", without secrets */
};

struct from_offset {
	int32_t partition;
	int64_t offset;
};

struct pipeline_config {
	char *name;
	int line;                       /* where it begins in the file */
	char **topics;                  /* names or ^regex */
	size_t topic_count;
	char *group;                    /* NULL: none (legal with horizon = age) */
	enum from_kind from;
	int64_t from_us;                /* FROM_TIME */
	struct from_offset *from_offsets; /* FROM_OFFSETS */
	size_t from_offset_count;
	enum horizon_kind horizon;
	int64_t horizon_age_ms;         /* HORIZON_AGE */
	enum isolation isolation;
	bool has_redis;
	struct redis_config redis;      /* the pipeline's own, or a copy of the global one */
	struct key_template *key;       /* "state:{key}"; NULL without Redis */
	enum key_format key_format;
	enum keypart key_part; /* whole, windowed, session: what is the key of the fence, its format and its home */
	struct key_template *epoch;     /* NULL: none */
	char *field_offset, *field_partition;
	char *field_value;              /* NULL: the state has no value field */
	enum state_kind state;
	enum tombstones tombstones;
	int64_t expires_ms;             /* UNKNOWN: keys do not expire by design */
	char *dlq;                      /* NULL: none */
	char *dlq_header;               /* header that names the source record; "source" unless told */
	enum rejects rejects;
	int32_t *partitions_before;     /* earlier partition counts, the latest first; the file has the oldest first */
	size_t partitions_before_count;
	char **copartitioned;
	size_t copartitioned_count;
	int64_t hot_share;              /* thousandths of a partition's records: a key is hot; UNKNOWN: not judged */
	struct placer placer;           /* how producers place keys; Kafka's murmur2 unless told */
	bool one_topic_only;            /* a ^regex that must not match more than one topic: a template lacks {topic} */
	struct properties kafka;        /* the general ones, then the pipeline's, then -F, then -X */
	char mapping_sha256[65];        /* of Redis address, key template, key format, epoch template, field names */
};

/*
 * Redis streams to look at. key, group and excluded are names, or globs as Redis has them where they hold one of
 * * ? [ \ (stream_match.h).
 */
struct stream_config {
	char *name;
	int line;
	char *key;                      /* of the stream, or a glob of several; the entry's name unless told */
	char *group;                    /* "*" */
	char **excluded;                /* groups that are left out */
	size_t excluded_count;
	int64_t idle_ms;                /* 10 min: pending so long since the last delivery is too long */
	int64_t deliveries;             /* 3: more often delivered is too often */
	char *dlq;                      /* key of the stream for poison entries; NULL: none */
	int64_t lag_max;                /* UNKNOWN, here and below: not judged */
	int64_t backlog_age_max_ms;
	int64_t consumer_idle_max_ms;
	int64_t length_max;
	struct redis_config redis;
};

struct config {
	char *path;                     /* as given */
	char sha256[65];                /* of the file's bytes */
	char *index;                    /* path, relative to the config file's folder unless absolute */
	int64_t sample_keys;            /* 1,000,000 */
	int64_t pending_keys;           /* 1,000,000: pending entries of a group that are kept at most */
	int64_t max_findings;           /* 1,000,000 */
	int64_t keep_runs;              /* 2: whose samples stay in the index */
	int64_t recent_ms;              /* 10 min */
	enum severity fail_on;          /* warning */
	bool expect_empty;
	struct pipeline_config *pipelines;
	size_t pipeline_count;
	struct stream_config *streams;
	size_t stream_count;
};

/*
 * What the command line adds: -X prop=val, -F file, -u URL, --redis-rate. All borrowed; NULL or UNKNOWN where
 * absent.
 */
struct config_overrides {
	const char *const *kafka_properties; /* "prop=val" */
	size_t kafka_property_count;
	const char *kafka_file;              /* property=value lines, # comments */
	const char *redis_url;
	const char *redis_auth;              /* REDISCLI_AUTH */
	int64_t redis_rate;                  /* UNKNOWN: as configured */
	const char *(*env)(void *context, const char *name); /* for ${NAME}; main gives getenv */
	void *env_context;
};

/*
 * Reads path, of at most 1 MiB. 0, or -1 with "file:line: what is wrong; valid: ..." in t and *config NULL.
 * overrides may be NULL.
 */
int config_read(const char *path, const struct config_overrides *overrides, struct config **config, struct trouble *t);

/* The same from memory. */
struct config_text {
	const char *path;   /* stands for the file in words, and gives the folder for relative paths */
	const char *bytes;
	size_t size;
};

int config_parse(const struct config_text *text, const struct config_overrides *overrides, struct config **config,
		 struct trouble *t);
void config_free(struct config *config);

/*
 * "10m", "36h", "7d", "90s", "500ms", "1h30m" -> ms. 1, or 0 where it is no duration; valid ones are named by
 * CONFIG_DURATION_WORDS.
 */
int config_duration(const char *text, int64_t *ms);
#define CONFIG_DURATION_WORDS "a duration like 500ms, 90s, 10m, 36h, 7d or 1h30m"

/* RFC 3339 with an offset or Z -> microseconds since 1970, UTC. 1, or 0 where it is none. */
int config_time(const char *text, int64_t *us);
#define CONFIG_TIME_WORDS "a time like 2026-03-01T02:30:00Z or 2026-03-01T02:30:00+01:00"

/* Whether a property of librdkafka is a secret, not to be shown. */
bool config_property_secret(const char *name);

/*
 * Every key that the file may have, as docs/config.md lists them. i counts from 0; false where there are no more.
 * Static texts.
 */
struct config_key {
	const char *section, *key, *type;
	const char *standard; /* what holds where the key is absent */
	bool literal;         /* standard is text as the file would have it, not words about it */
};

bool config_key_at(size_t i, struct config_key *key);

const char *severity_word(enum severity s);
const char *isolation_word(enum isolation i);
const char *state_word(enum state_kind s);
const char *tombstones_word(enum tombstones r);
const char *rejects_word(enum rejects r);
const char *from_word(enum from_kind f);
const char *horizon_word(enum horizon_kind h);

#endif

/*
 * kafka_client: one librdkafka consumer of a kafka_source, and what its parts share. Internal to the files kafka_*.c.
 */
#ifndef INGEST_KAFKA_CLIENT_H
#define INGEST_KAFKA_CLIENT_H

#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "ingest/config.h"
#include "ingest/source.h"
#include "sql/run.h"
#include "sql/trouble.h"

enum {
	KAFKA_HANDLES_MAX = 16,
	KAFKA_ISOLATIONS = 2,  /* of enum isolation */
	KAFKA_SLICE_MS = 1000, /* blocking calls are cut in slices, so that a stop is noticed */
};

/* What a client is for. */
enum kafka_use {
	KAFKA_LOOK, /* questions and probes: small fetches */
	KAFKA_READ, /* bulk */
};

struct kafka_source;

/* Used by one thread at a time. */
struct kafka_client {
	struct kafka_source *source;
	rd_kafka_t *rk;
	rd_kafka_queue_t *queue; /* records of all partitions */
	bool denied;             /* the brokers refuse the credentials: waiting does not help */
	char error[256];         /* the newest words of the error callback */
};

struct kafka_source {
	struct source base; /* first: a struct source * is a struct kafka_source * */
	const struct run *run;
	struct properties properties;
	int handles;
	int64_t timeout_ms;
	int64_t silent_us;         /* a tick: metadata was asked for since then, in vain; UNKNOWN: it was answered */
	char *cluster;
	struct kafka_client *looks[KAFKA_ISOLATIONS]; /* made when first needed */
	struct kafka_client *commits;                 /* likewise */
	struct kafka_client *readers[KAFKA_ISOLATIONS][KAFKA_HANDLES_MAX];
	bool admin_asked, admin_silent; /* silent: an admin request was not answered, or would not be: ask no more */
	struct topic_names config_noted; /* topics whose configuration is told of as not known */
	bool transaction_max_asked;
	int64_t transaction_max_ms;
	bool debug; /* the property debug is given: all lines of log are shown */
	pthread_mutex_t log_lock;
	int64_t log_second; /* lines of log are limited */
	int log_lines;
};

/* Copies what librdkafka may be given into out, noting what is ignored. */
void kafka_properties_copy(const struct run *run, const struct properties *properties, struct properties *out);
void kafka_properties_release(struct properties *properties);

/* group: group.id, which joins nothing by itself; NULL: none. NULL with t filled: a property is wrong. */
struct kafka_client *kafka_client_new(struct kafka_source *source, enum isolation isolation, enum kafka_use use,
				      const char *group, struct trouble *t);
void kafka_client_free(struct kafka_client *client);

/* The source's client for questions, and its i-th for bulk. NULL with t filled. */
struct kafka_client *kafka_look_client(struct kafka_source *source, enum isolation isolation, struct trouble *t);

/*
 * The source's client for the commits of groups; group is the one asked for first. librdkafka (2.0 and many after)
 * follows a null pointer when a broker answers a client without group.id that it is not the group's coordinator,
 * which is normal while coordinators move.
 */
struct kafka_client *kafka_commit_client(struct kafka_source *source, const char *group, struct trouble *t);
struct kafka_client *kafka_read_client(struct kafka_source *source, enum isolation isolation, int i, struct trouble *t);

/* Words for err, with the right that is missing where one is. Static. */
const char *kafka_err_words(rd_kafka_resp_err_t err);

/* As kafka_err_words, or the client's newest error where it says more: borrowed until the next call on the client. */
const char *kafka_client_words(const struct kafka_client *client, rd_kafka_resp_err_t err);

/* May err go away by waiting? */
bool kafka_err_passes(rd_kafka_resp_err_t err);

/*
 * Until when (a tick) a question that was begun at a tick may be asked again. A silent cluster is waited for once:
 * otherwise an audit of many topics would wait the time-out for each question about each of them.
 */
int64_t kafka_source_until(const struct kafka_source *source, int64_t begun_us);

/*
 * True while it is sensible to try again: not stopped, not denied, and before until (a tick in us). Serves the
 * client's callbacks.
 */
bool kafka_client_may_wait(struct kafka_client *client, int64_t until);

/* Metadata of one topic, or of all where topic is NULL; the caller destroys it. */
int kafka_metadata(struct kafka_client *client, const char *topic, const struct rd_kafka_metadata **metadata,
		   struct trouble *t);

/*
 * The partitions of a topic; -1: there is no such topic. Where the user may not know that, the result is -1 and
 * *partitions KAFKA_HIDDEN.
 */
enum { KAFKA_HIDDEN = -2 };
int kafka_partitions(struct kafka_client *client, const char *topic, int32_t *partitions, struct trouble *t);

/* Fills in cleanup policy and the like, or config_trouble. */
void kafka_describe_config(struct kafka_client *client, const char *topic, struct topic_description *out);

/* source_ops, by file. */
int kafka_topics(struct source *source, const char *pattern, struct topic_names *names, struct trouble *t);
int kafka_describe(struct source *source, const char *topic, struct topic_description *out, struct trouble *t);
int64_t kafka_transaction_max_ms(struct source *source);
int kafka_offsets(struct source *source, enum offset_kind kind, struct offset_query *queries, size_t count,
		  struct trouble *t);
int kafka_commits(struct source *source, const char *group, struct offset_query *queries, size_t count,
		  struct trouble *t);
int kafka_group(struct source *source, const char *group, struct group_look *look, struct trouble *t);
int kafka_replay(struct source *source, struct replay_part *parts, size_t count, struct history *sink,
		 struct trouble *t);
int kafka_reread(struct source *source, struct reread_window *windows, size_t count,
		 void (*take)(void *context, const struct reread_window *window, const struct record *record),
		 void *context, struct trouble *t);
int kafka_probe(struct source *source, enum isolation isolation, struct probe *probes, size_t count, struct trouble *t);

static inline struct kafka_source *kafka_source_of(struct source *source)
{
	return (struct kafka_source *)source;
}

#endif

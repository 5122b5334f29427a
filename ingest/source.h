/*
 * source: where history comes from, and the looks at it. The order of looking is written once (ingest.c) over this
 * interface; the live Kafka cluster is one source, log segments and others may follow.
 *
 * A look that failed for one partition says so in that partition's own trouble and leaves UNKNOWN; only what makes
 * the whole call pointless returns -1.
 */
#ifndef INGEST_SOURCE_H
#define INGEST_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ingest/config.h"
#include "sql/chunk.h"
#include "sql/run.h"
#include "sql/trouble.h"

struct history; /* ingest/history.h: the sink of records */

enum offset_kind {
	OFFSET_LOG_START,
	OFFSET_LAST_STABLE, /* read_committed end */
	OFFSET_HIGH_WATERMARK,
	OFFSET_AT_TIME, /* first record with timestamp >= query; the end where there is none */
};

/* One question about one partition, and its answer. */
struct offset_query {
	const char *topic; /* borrowed */
	int32_t partition;
	int64_t time_ms;        /* for OFFSET_AT_TIME */
	int64_t offset;         /* answer, or UNKNOWN; for commits: UNKNOWN with no trouble means that there is none */
	int64_t at_us;          /* when the answer was read */
	struct trouble trouble; /* empty: answered */
};

struct topic_names {
	char **names; /* sorted; the caller frees with topic_names_release */
	size_t count;
};

void topic_names_release(struct topic_names *names);

struct topic_description {
	int32_t partitions;            /* -1: no such topic */
	char *cleanup_policy;          /* NULL: not known; freed by topic_description_release */
	int64_t retention_ms;          /* -1 infinite; UNKNOWN */
	char *timestamp_type;          /* CreateTime, LogAppendTime; NULL: not known */
	int64_t segment_ms;            /* UNKNOWN */
	struct trouble config_trouble; /* why the configuration is not known (ACL, time-out) */
};

void topic_description_release(struct topic_description *description);

struct group_look {
	char *state;     /* "Empty", "Stable" ...; NULL: not known */
	int64_t members; /* UNKNOWN */
	int64_t at_us;
	struct trouble trouble;
};

void group_look_release(struct group_look *look);

/* A record as it lies in a source's memory; borrowed for the call. */
struct raw_record {
	int64_t offset, timestamp_ms;
	const void *key;
	int32_t key_size; /* -1: null key */
	const void *value;
	int64_t value_size; /* -1: tombstone */
	const void *header; /* value of the header that names the source record; NULL: none, or not asked for */
	size_t header_size;
};

/* One partition to replay: records in [next, end) go to the sink. */
struct replay_part {
	int64_t incarnation_id;
	const char *topic;
	int32_t partition;
	enum isolation isolation;
	bool numbers;           /* keep values that are decimal int64 as numbers */
	const char *header;     /* header that names the source record, "topic/partition/offset"; NULL: none */
	int64_t next;           /* in: where to begin; out: where reading stopped (a position, not a record) */
	int64_t end;            /* fixed before the replay began */
	bool covered;           /* out: reached end */
	bool beyond;            /* out: the broker's end lies below next or below end: the history was rewritten */
	struct trouble trouble; /* out: why not covered */
};

/* The record found at or after an offset, for anchors. */
struct probe {
	const char *topic;
	int32_t partition;
	int64_t offset;       /* asked */
	int64_t limit;        /* stop looking here */
	bool found;           /* out */
	struct record record; /* out: its key points into key_copy */
	void *key_copy;       /* out: the caller frees */
	struct trouble trouble;
};

/* A stretch of a partition to re-read for aborted records: everything in [start, end). */
struct reread_window {
	const char *topic;
	int32_t partition;
	bool numbers; /* as in replay_part */
	const char *header;
	size_t index; /* the caller's */
	int64_t start, end;
	bool covered;               /* out */
	int64_t gone_from, gone_to; /* out: was trimmed before it could be read; UNKNOWN: nothing */
	struct trouble trouble;
};

struct source {
	const struct source_ops *ops;
};

struct source_ops {
	/* Name of the cluster, stable across runs: its id, or the bootstrap servers. Borrowed. */
	const char *(*cluster)(struct source *source);
	/* Topics that a name or ^regex matches, internal ones excluded. 0 with count 0: none. */
	int (*topics)(struct source *source, const char *pattern, struct topic_names *names, struct trouble *t);
	int (*describe)(struct source *source, const char *topic, struct topic_description *out, struct trouble *t);
	/* transaction.max.timeout.ms of the brokers; UNKNOWN where not readable. */
	int64_t (*transaction_max_ms)(struct source *source);
	int (*offsets)(struct source *source, enum offset_kind kind, struct offset_query *queries, size_t count,
		       struct trouble *t);
	/* Committed offsets of a group, require_stable off. Never joins. */
	int (*commits)(struct source *source, const char *group, struct offset_query *queries, size_t count,
		       struct trouble *t);
	int (*group)(struct source *source, const char *group, struct group_look *look, struct trouble *t);
	int (*replay)(struct source *source, struct replay_part *parts, size_t count, struct history *sink,
		      struct trouble *t);
	/*
	 * Reads windows read_uncommitted; windows of one partition lie side by side, ascending. Hands every record
	 * inside to take: from any thread, but one at a time a partition, in order.
	 */
	int (*reread)(struct source *source, struct reread_window *windows, size_t count,
		      void (*take)(void *context, const struct reread_window *window, const struct record *record),
		      void *context, struct trouble *t);
	int (*probe)(struct source *source, enum isolation isolation, struct probe *probes, size_t count,
		     struct trouble *t);
	void (*free)(struct source *source);
};

#endif

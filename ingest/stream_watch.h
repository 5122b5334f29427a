/*
 * stream_watch: what the files that look at the streams of one entry of the config share. stream.h is the entry for
 * others.
 */
#ifndef INGEST_STREAM_WATCH_H
#define INGEST_STREAM_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ingest/config.h"
#include "ingest/redis_seen.h"
#include "ingest/sampler.h"
#include "ingest/stream_rows.h"
#include "ingest/stream_state.h"
#include "sql/keyhash.h"

/* A stream to look at. */
struct stream_name {
	struct bytes key; /* owned by the list */
	bool named;       /* the config names it: it must exist */
};

struct stream_names {
	struct stream_name *items;
	size_t count;
};

struct stream_watch {
	const struct run *run;
	const struct stream_config *config;
	int64_t pending_keys;
	bool expect_empty;
	int64_t watch_id;
	struct sampler *sampler; /* NULL: the server cannot be reached */
	struct stream_rows rows;
	struct stream_names names;
	struct stream_names groups; /* names of the groups met, for the DLQ; each once */
	struct redis_seen seen;     /* them */
	char **troubles;
	size_t trouble_count;
	bool lost;         /* the server no longer answers: nothing more is asked */
	bool no_time;      /* TIME is not allowed */
	bool met_stream;   /* there is one at least */
	bool met_group;    /* a group that the config asks for is there, on one stream at least */
	bool passed_group; /* a group was there that the config does not ask for */
	struct buffer out; /* commands */
};

/* Notes trouble of the watch, for table trouble. */
void watch_trouble(struct stream_watch *watch, const struct trouble *what);

/*
 * One command and its reply, which lives until the next; the replies before are forgotten. An error reply is trouble,
 * in *fault too, which may be NULL. 0 or -1.
 */
int watch_ask(struct stream_watch *watch, size_t count, const struct bytes *arguments, redisReply **reply,
	      enum redis_fault *fault, struct trouble *t);

/* Whether to go on asking. */
static inline bool watch_over(const struct stream_watch *watch)
{
	return watch->lost || watch->rows.failed || run_stopped(watch->run);
}

/* Always -1, and the watch is lost: what redis_conn said holds for everything that comes. */
int watch_lose(struct stream_watch *watch);

/* --- names: stream_names.c ---------------------------------------------------------------------------------------- */

/*
 * The streams of the watch, each once, in the order of bytes: the one that the config names, or those that SCAN shows;
 * and those that an earlier run saw, which are put in by then (stream_names_earlier) and still fit the config. 0 or -1.
 */
int stream_names_find(struct stream_watch *watch, struct trouble *t);
int stream_names_earlier(struct stream_watch *watch, sqlite3 *db, struct trouble *t);
void stream_names_add(struct stream_names *names, struct bytes key, bool named);
void stream_names_release(struct stream_names *names);

/* --- one stream: stream_group.c ----------------------------------------------------------------------------------- */

/* Looks at a stream and its groups. Whatever cannot be looked at is noted, and the watch is not looked. */
void stream_look_at(struct stream_watch *watch, const struct stream_name *name);

/*
 * XINFO STREAM: 1 with *state; 0 where there is no such stream, with words; -1 with words. *fault, which is
 * REDIS_FAULT_NONE before, is the kind of a refusal: a key of another type is one.
 */
int stream_ask_state(struct stream_watch *watch, struct bytes key, struct stream_state *state, enum redis_fault *fault,
		     struct trouble *t);

/* The clock of the server in ms; UNKNOWN where it may not be asked. */
int64_t stream_server_ms(struct stream_watch *watch);

/* --- pending entries: stream_pending.c, stream_confirm.c ---------------------------------------------------------- */

struct suspect {
	uint8_t id[ENTRY_SIZE];
	int8_t present;
	int64_t content;
};

struct name_index;

/* One group on its way. */
struct group_look {
	struct bytes key, name;
	int64_t group_id;
	struct name_index *consumers; /* names to ids of rows */
	int64_t threshold, listed, kept, acknowledged;
	struct stream_histogram histogram;
	struct suspect *suspects;
	size_t suspect_count, suspect_room;
};

/* Names with a number each, such as a group's consumers with the ids of their rows. find: UNKNOWN where there is none. */
int64_t name_index_find(const struct name_index *index, struct bytes name);
struct name_index *name_index_new(size_t count);
void name_index_add(struct name_index *index, struct bytes name, int64_t id); /* name is borrowed */
void name_index_free(struct name_index *index);

/* An entry of XPENDING's extended form; consumer is borrowed from the reply. */
struct pending_entry {
	uint8_t id[ENTRY_SIZE];
	struct bytes text, consumer;
	int64_t idle_ms, deliveries;
};

bool pending_entry_read(const redisReply *reply, struct pending_entry *entry);

/* The row of a pending entry. 0, or -1 where the index failed. */
int pending_keep(struct stream_watch *watch, struct group_look *look, const struct pending_entry *entry,
		 const struct suspect *about, struct trouble *t);

/*
 * Reads all pending entries of the group, and whether those of the sample still exist. Rows of entries that are no
 * suspects are handed over; the suspects are in the look. 0 or -1.
 */
int stream_pending_read(struct stream_watch *watch, struct group_look *look, struct trouble *t);

/* Looks at the suspects again, and hands over the rows of those that are still pending. 0 or -1. */
int stream_confirm(struct stream_watch *watch, struct group_look *look, struct trouble *t);

/* XXH3 over fields and values and their lengths; words is scratch. */
int64_t stream_content(const redisReply *fields, struct buffer *words);

/* --- dead letters: stream_dlq.c ----------------------------------------------------------------------------------- */

/* Looks at the watch's DLQ stream, once its streams' groups are known. */
void stream_dlq_look(struct stream_watch *watch);

#endif

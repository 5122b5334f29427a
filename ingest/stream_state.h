/*
 * stream_state: what XINFO says of streams, groups and consumers, as values. Fields are found by their names, for each
 * version of Redis has others; one that a version does not have, or that is nil, is unknown.
 */
#ifndef INGEST_STREAM_STATE_H
#define INGEST_STREAM_STATE_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/entry.h"
#include "sql/facts.h"
#include "sql/run.h"
#include "sql/trouble.h"

/* An entry id that may be unknown. */
struct stream_id {
	bool known;
	uint8_t id[ENTRY_SIZE];
};

static inline struct bytes stream_id_bytes(const struct stream_id *id)
{
	return (struct bytes){ id->known ? id->id : NULL, ENTRY_SIZE };
}

struct stream_state {
	int64_t length, entries_added, groups;
	struct stream_id last_generated, first_entry, last_entry, max_deleted;
};

struct stream_group_state {
	struct bytes name; /* owned by the list */
	int64_t consumers, pending, entries_read, lag;
	struct stream_id last_delivered;
};

struct stream_groups {
	struct stream_group_state *items;
	size_t count;
};

struct stream_consumer_state {
	struct bytes name; /* likewise */
	int64_t pending, idle_ms, inactive_ms;
};

struct stream_consumers {
	struct stream_consumer_state *items;
	size_t count;
};

/*
 * From replies that are no errors. 0, or -1 where the reply has another shape than Redis gives; then nothing is owned.
 */
int stream_state_read(const redisReply *reply, struct stream_state *state, struct trouble *t);
int stream_groups_read(const redisReply *reply, struct stream_groups *groups, struct trouble *t);
int stream_consumers_read(const redisReply *reply, struct stream_consumers *consumers, struct trouble *t);

void stream_groups_release(struct stream_groups *groups);
void stream_consumers_release(struct stream_consumers *consumers);

/* NULL where there is none of the name. */
const struct stream_group_state *stream_groups_find(const struct stream_groups *groups, struct bytes name);

/* Whether the reply is an entry as XRANGE gives it: an id, and a list of fields and values. */
bool stream_entry_read(const redisReply *reply, uint8_t id[ENTRY_SIZE], const redisReply **fields);

/* A text that is an entry id. */
bool stream_reply_id(const redisReply *reply, uint8_t id[ENTRY_SIZE]);

#endif

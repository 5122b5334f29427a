/*
 * redis_look: looks at Redis keys, a batch at a time: HMGET of the fence's fields and PTTL for each, pipelined; replies
 * become rows of table fence.
 *
 * Two commands are not one moment: where their replies contradict each other (fields but no key, a key but no fields,
 * not a hash), the key is asked again together with its TYPE, in a later batch, and only what stands then is a row.
 */
#ifndef INGEST_REDIS_LOOK_H
#define INGEST_REDIS_LOOK_H

#include "ingest/sampler.h"

struct look_key {
	int64_t hash;
	struct bytes redis_key, key;
	uint8_t strata, tries;
	bool in_set; /* a record key: its absence is a row */
};

struct look_item {
	int64_t hash;
	size_t at; /* in the batch's bytes: the Redis key, then the record key */
	size_t redis_size, key_size;
	uint8_t strata, tries;
	bool in_set;
};

struct look_batch {
	struct look_item *items;
	size_t count, room;
	size_t sent, answered; /* items */
	bool asked_field_ttl;  /* in the commands sent */
	struct buffer bytes;
};

struct look {
	struct sampler *sampler;
	const struct sample_subject *subject;
	struct keyset *keys;
	struct sample_sink sink;
	size_t fields;            /* 2, or 3 with the value */
	struct buffer head, tail; /* of the HMGET around a key */
	struct buffer ttl_tail;   /* of the HPTTL */
	struct buffer out;        /* commands */
	size_t window;            /* items to have in flight, at most */
	struct look_batch again;
	struct sample_rival *rivals; /* those that win over the subject's template */
	size_t rival_count;
	struct buffer parsed; /* of a rival; not used */
};

void look_init(struct look *look, struct sampler *sampler, struct writer *writer, const struct sample_subject *subject,
	       struct keyset *keys);
void look_release(struct look *look);

/* Whether the key belongs to another template, which names it too and has the longer literal prefix. */
bool look_is_rivals(struct look *look, struct bytes redis_key);

/* Whether hashes of the database have field TTLs, before the first look. 0 or -1. */
int look_at_field_ttls(struct look *look, struct trouble *t);

/*
 * The same after the last look, when nothing is in flight: where some have them now and none had before, rows do not
 * claim to know. 0 or -1.
 */
int look_settle_field_ttls(struct look *look, struct trouble *t);

/* Copies the bytes. */
void look_batch_add(struct look_batch *batch, const struct look_key *key);

/* An item as a key again. Borrowed until the batch changes. */
struct look_key look_key_of(const struct look_batch *batch, const struct look_item *item);

void look_batch_clear(struct look_batch *batch);
void look_batch_release(struct look_batch *batch);

static inline bool look_batch_open(const struct look_batch *batch)
{
	return batch->answered < batch->count;
}

/* Moves keys that must be asked again to the end of batch. */
void look_take_again(struct look *look, struct look_batch *batch);

/* Whether what is left of the batch fits into one window, by number and by size. */
bool look_fits(const struct look *look, const struct look_batch *batch);

/* Queues the commands of the next window of items. */
void look_send(struct look *look, struct look_batch *batch);

/* Reads the replies of all items sent. 1; 0 the link is lost; -1 trouble. */
int look_receive(struct look *look, struct look_batch *batch, struct trouble *t);

/*
 * Keys of pages and of those to be asked again whose look has not become a row count as not seen: they may be asked for
 * later.
 */
void look_unsee_open(struct look *look, const struct look_batch *pages, size_t count);

/*
 * Rounds, while nothing else is in flight, until one window or less is left to send. 1; 0 the link is lost; -1 trouble.
 */
int look_shorten(struct look *look, struct look_batch *batch, struct trouble *t);

/* Sends, receives and reconnects until every item is answered. 0 or -1. */
int look_finish(struct look *look, struct look_batch *batch, struct trouble *t);

#endif

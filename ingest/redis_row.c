/* redis_row: judges the replies about one key. */
#include "ingest/redis_row.h"

#include <stdio.h>
#include <xxhash.h>

#include "sql/faultpoint.h"
#include "sql/fencefield.h"
#include "sql/slot.h"

enum { TRIES_MOST = 3, RAW_MOST = 256 };

static const int64_t PTTL_NO_KEY = -2;

/* The replies that are no error of the server; an HMGET on what is no hash is a sample. */
static int check_faults(struct look *look, const struct row_replies *r, struct trouble *t)
{
	struct redis_conn *conn = look->sampler->conn;
	const struct {
		const redisReply *reply;
		const char *command;
	} replies[] = {
		{ reply_fault(r->fields) == REDIS_FAULT_WRONG_TYPE ? NULL : r->fields, "HMGET" },
		{ r->ttl, "PTTL" },
		{ r->type, "TYPE" },
	};

	if (FAULT(REDIS_HMGET))
		return trouble_set(t, "HMGET: refused");
	if (FAULT(REDIS_PTTL))
		return trouble_set(t, "PTTL: refused");
	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
		struct reply_origin origin = redis_conn_origin(conn, replies[i].command);

		if (replies[i].reply && replies[i].reply->type == REDIS_REPLY_ERROR)
			return reply_trouble(replies[i].reply, &origin, t);
	}
	if (r->ttl->type != REDIS_REPLY_INTEGER || (r->type && !reply_is_text(r->type)) ||
	    (r->fields->type != REDIS_REPLY_ERROR &&
	     (r->fields->type != REDIS_REPLY_ARRAY || r->fields->elements != look->fields)))
		return trouble_set(t, "HMGET, PTTL, TYPE: a reply of another shape than Redis gives");
	return 0;
}

static bool any_field(const redisReply *fields)
{
	for (size_t i = 0; i < fields->elements; i++) {
		if (fields->element[i]->type != REDIS_REPLY_NIL)
			return true;
	}
	return false;
}

static bool type_is(const redisReply *type, const char *name)
{
	return type && type->len == strlen(name) && !memcmp(type->str, name, type->len);
}

/* A server that once says that it does not know HPTTL, or that we may not, is not asked again. */
static int64_t least_field_ttl(struct look *look, const redisReply *ttls)
{
	int64_t least = -1;

	if (!ttls)
		return look->sampler->field_ttl == FIELD_TTL_UNUSED ? -1 : UNKNOWN;
	if (ttls->type == REDIS_REPLY_ERROR && reply_fault(ttls) != REDIS_FAULT_WRONG_TYPE)
		look->sampler->field_ttl = FIELD_TTL_ABSENT;
	if (ttls->type != REDIS_REPLY_ARRAY)
		return UNKNOWN;
	for (size_t i = 0; i < ttls->elements; i++) {
		int64_t ttl = ttls->element[i]->type == REDIS_REPLY_INTEGER ? ttls->element[i]->integer : -1;

		if (ttl >= 0 && (least < 0 || ttl < least))
			least = ttl;
	}
	return least;
}

static struct bytes cut(struct bytes b)
{
	return (struct bytes){ b.at, b.size < RAW_MOST ? b.size : RAW_MOST };
}

struct number {
	int64_t value;
	struct bytes raw; /* where malformed */
	enum fencefield state;
};

static struct number read_number(const redisReply *field)
{
	struct bytes text = reply_bytes(field);
	struct number n;

	n.state = fencefield_read(text.at, text.size, &n.value);
	n.raw = n.state == FENCEFIELD_OK ? (struct bytes){ NULL, 0 } : cut(text);
	if (n.state != FENCEFIELD_OK)
		n.value = UNKNOWN;
	return n;
}

static void read_fence(struct row *row, redisReply **fields)
{
	struct number offset = read_number(fields[0]), partition = read_number(fields[1]);
	int at = 0;

	row->fence.offset = offset.value;
	row->fence.offset_raw = offset.raw;
	row->fence.partition = partition.value;
	row->fence.partition_raw = partition.raw;
	if (partition.state != FENCEFIELD_OK)
		at = snprintf(row->malformed, sizeof(row->malformed), "partition %s", fencefield_word(partition.state));
	if (offset.state != FENCEFIELD_OK)
		snprintf(row->malformed + at, sizeof(row->malformed) - (size_t)at, "%soffset %s", at ? ", " : "",
			 fencefield_word(offset.state));
	if (row->malformed[0])
		row->fence.malformed = row->malformed;
}

static void read_value(const struct look *look, struct row *row, const redisReply *field)
{
	struct bytes value = reply_bytes(field);
	int64_t number;
	enum fencefield state;

	if (!value.at)
		return;
	if (look->subject->pipeline->state == STATE_LAST) {
		row->fence.value_hash = (int64_t)XXH3_64bits(value.at, value.size);
		return;
	}
	/* A number of the state may be negative, and exact beyond 2^53: HINCRBY counts in int64. */
	state = fencefield_read_epoch(value.at, value.size, &number);
	if (state == FENCEFIELD_OK || state == FENCEFIELD_INEXACT)
		row->fence.value_number = number;
	else
		row->fence.value_raw = cut(value);
}

static void begin_row(const struct look *look, const struct look_key *key, struct row *row)
{
	const struct sampler *s = look->sampler;

	row->malformed[0] = row->type[0] = '\0';
	row->fence = (struct fact_fence){
		.topic_id = look->subject->topic_id,
		.hash = key->hash,
		.key = key->key,
		.redis_key = key->redis_key,
		.strata = key->strata,
		.sampled_us = UNKNOWN,
		.present = 1,
		.partition = UNKNOWN,
		.offset = UNKNOWN,
		.value_hash = UNKNOWN,
		.value_number = UNKNOWN,
		.ttl_ms = UNKNOWN,
		.field_ttl_ms = UNKNOWN,
		.slot = s->cluster ? redis_slot(key->redis_key.at, key->redis_key.size) : UNKNOWN,
		.node = s->cluster ? s->redis->address : NULL,
	};
}

/* Something that is no hash; TYPE says what. */
static int make_other(const struct look_key *key, const struct row_replies *r, struct row *row)
{
	bool last = key->tries >= TRIES_MOST;

	if (!r->type || ((type_is(r->type, "hash") || type_is(r->type, "none")) && !last))
		return 0;
	snprintf(row->type, sizeof(row->type), "%.*s", (int)r->type->len, r->type->str);
	snprintf(row->malformed, sizeof(row->malformed), "a %s, not a hash", row->type);
	row->fence.type = row->type;
	row->fence.malformed = row->malformed;
	row->fence.ttl_ms = r->ttl->integer == PTTL_NO_KEY ? UNKNOWN : r->ttl->integer;
	return 1;
}

int row_make(struct look *look, const struct look_key *key, const struct row_replies *r, struct row *row,
	     struct trouble *t)
{
	bool gone, last = key->tries >= TRIES_MOST;

	if (check_faults(look, r, t) < 0)
		return -1;
	begin_row(look, key, row);
	if (r->fields->type == REDIS_REPLY_ERROR)
		return make_other(key, r, row);
	gone = r->ttl->integer == PTTL_NO_KEY;
	if (any_field(r->fields) == gone && !last)
		return 0;
	if (!any_field(r->fields) && gone) {
		row->fence.present = 0;
		return 1;
	}
	row->fence.ttl_ms = gone ? UNKNOWN : r->ttl->integer;
	row->fence.field_ttl_ms = least_field_ttl(look, r->field_ttls);
	read_fence(row, r->fields->element);
	if (look->fields == 3)
		read_value(look, row, r->fields->element[2]);
	return 1;
}

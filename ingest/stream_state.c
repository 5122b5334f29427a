/* stream_state: flat lists of names and values, as protocol 2 gives maps. */
#include "ingest/stream_state.h"

#include <stdlib.h>
#include <string.h>

#include "ingest/redis_reply.h"
#include "sql/mem.h"

static bool is_map(const redisReply *reply)
{
	return reply->type == REDIS_REPLY_ARRAY && reply->elements % 2 == 0;
}

/* NULL where there is no such field. */
static const redisReply *field(const redisReply *map, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < map->elements; i += 2) {
		struct bytes key = reply_bytes(map->element[i]);

		if (key.at && key.size == length && !memcmp(key.at, name, length))
			return map->element[i + 1];
	}
	return NULL;
}

static int64_t number(const redisReply *map, const char *name)
{
	const redisReply *value = field(map, name);

	return value && value->type == REDIS_REPLY_INTEGER ? value->integer : UNKNOWN;
}

bool stream_reply_id(const redisReply *reply, uint8_t id[ENTRY_SIZE])
{
	struct bytes text = reply_bytes(reply);

	return text.at && entry_read(text.at, text.size, id);
}

static struct stream_id id_of(const redisReply *reply)
{
	struct stream_id id = { 0 };

	id.known = reply && stream_reply_id(reply, id.id);
	return id;
}

bool stream_entry_read(const redisReply *reply, uint8_t id[ENTRY_SIZE], const redisReply **fields)
{
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || !stream_reply_id(reply->element[0], id))
		return false;
	*fields = reply->element[1];
	return (*fields)->type == REDIS_REPLY_ARRAY;
}

/* Of the first or last entry, where there is one. */
static struct stream_id entry_of(const redisReply *entry)
{
	bool is_entry = entry && entry->type == REDIS_REPLY_ARRAY && entry->elements > 0;

	return id_of(is_entry ? entry->element[0] : NULL);
}

static int odd(const char *command, struct trouble *t)
{
	return trouble_set(t, "%s: a reply of another shape than Redis gives", command);
}

int stream_state_read(const redisReply *reply, struct stream_state *state, struct trouble *t)
{
	if (!is_map(reply))
		return odd("XINFO STREAM", t);
	*state = (struct stream_state){
		.length = number(reply, "length"),
		.entries_added = number(reply, "entries-added"),
		.groups = number(reply, "groups"),
		.last_generated = id_of(field(reply, "last-generated-id")),
		.first_entry = entry_of(field(reply, "first-entry")),
		.last_entry = entry_of(field(reply, "last-entry")),
		.max_deleted = id_of(field(reply, "max-deleted-entry-id")),
	};
	return state->length != UNKNOWN && state->last_generated.known ? 0 : odd("XINFO STREAM", t);
}

static struct bytes own(struct bytes bytes)
{
	return (struct bytes){ xmemdup(bytes.at, bytes.size), bytes.size };
}

static bool group_read(const redisReply *reply, struct stream_group_state *group)
{
	const redisReply *name = is_map(reply) ? field(reply, "name") : NULL;

	if (!name || !reply_is_text(name))
		return false;
	*group = (struct stream_group_state){
		.consumers = number(reply, "consumers"),
		.pending = number(reply, "pending"),
		.entries_read = number(reply, "entries-read"),
		.lag = number(reply, "lag"),
		.last_delivered = id_of(field(reply, "last-delivered-id")),
	};
	if (group->pending == UNKNOWN || !group->last_delivered.known)
		return false;
	group->name = own(reply_bytes(name));
	return true;
}

int stream_groups_read(const redisReply *reply, struct stream_groups *groups, struct trouble *t)
{
	*groups = (struct stream_groups){ 0 };
	if (reply->type != REDIS_REPLY_ARRAY)
		return odd("XINFO GROUPS", t);
	groups->items = xarray(reply->elements, sizeof(*groups->items));
	for (size_t i = 0; i < reply->elements; i++) {
		if (!group_read(reply->element[i], &groups->items[i])) {
			stream_groups_release(groups);
			return odd("XINFO GROUPS", t);
		}
		groups->count++;
	}
	return 0;
}

static bool consumer_read(const redisReply *reply, struct stream_consumer_state *consumer)
{
	const redisReply *name = is_map(reply) ? field(reply, "name") : NULL;

	if (!name || !reply_is_text(name))
		return false;
	*consumer = (struct stream_consumer_state){
		.name = own(reply_bytes(name)),
		.pending = number(reply, "pending"),
		.idle_ms = number(reply, "idle"),
		.inactive_ms = number(reply, "inactive"),
	};
	return true;
}

int stream_consumers_read(const redisReply *reply, struct stream_consumers *consumers, struct trouble *t)
{
	*consumers = (struct stream_consumers){ 0 };
	if (reply->type != REDIS_REPLY_ARRAY)
		return odd("XINFO CONSUMERS", t);
	consumers->items = xarray(reply->elements, sizeof(*consumers->items));
	for (size_t i = 0; i < reply->elements; i++) {
		if (!consumer_read(reply->element[i], &consumers->items[i])) {
			stream_consumers_release(consumers);
			return odd("XINFO CONSUMERS", t);
		}
		consumers->count++;
	}
	return 0;
}

void stream_groups_release(struct stream_groups *groups)
{
	for (size_t i = 0; i < groups->count; i++)
		free((void *)groups->items[i].name.at);
	free(groups->items);
	*groups = (struct stream_groups){ 0 };
}

void stream_consumers_release(struct stream_consumers *consumers)
{
	for (size_t i = 0; i < consumers->count; i++)
		free((void *)consumers->items[i].name.at);
	free(consumers->items);
	*consumers = (struct stream_consumers){ 0 };
}

const struct stream_group_state *stream_groups_find(const struct stream_groups *groups, struct bytes name)
{
	for (size_t i = 0; i < groups->count; i++)
		if (groups->items[i].name.size == name.size && !memcmp(groups->items[i].name.at, name.at, name.size))
			return &groups->items[i];
	return NULL;
}

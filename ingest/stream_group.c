/* stream_group: one stream and its groups, in the order that stream.h gives. */
#include <stdlib.h>

#include "ingest/redis_server.h"
#include "ingest/stream_blocks.h"
#include "ingest/stream_match.h"
#include "ingest/stream_watch.h"
#include "sql/faultpoint.h"
#include "sql/keytext.h"
#include "sql/mem.h"

enum { NAME_SHOWN = 100 };

/* What a look at a stream holds on its way. */
struct stream_visit {
	struct stream_watch *watch;
	const struct stream_name *name;
	int64_t stream_id;
	struct stream_state state;
	struct stream_groups groups;
	struct group_end {
		const struct stream_group_state *before;
		int64_t group_id;
		struct fact_stream_group end;
		char *trouble; /* NULL: none */
	} * ends;              /* of the groups that were looked at */
	size_t end_count;
};

/* Bytes of a name for people. The caller frees. */
static char *shown(struct bytes name)
{
	size_t size = name.size < NAME_SHOWN ? name.size : NAME_SHOWN;
	char *text = xarray(KEYTEXT_ROOM(size), 1);

	keytext_write(name.at, size, text);
	return text;
}

static void note_stream(struct stream_visit *v, struct trouble *what)
{
	char *key = shown(v->name->key);

	trouble_wrap(what, "stream %s", key);
	watch_trouble(v->watch, what);
	free(key);
}

static void note_group(struct stream_visit *v, struct bytes group, struct trouble *what)
{
	char *name = shown(group);

	trouble_wrap(what, "group %s", name);
	note_stream(v, what);
	free(name);
}

/* --- the server's clock ------------------------------------------------------------------------------------------- */

static int64_t info_ms(struct stream_watch *watch)
{
	struct trouble unheard;
	redisReply *reply;
	int64_t us;

	if (watch_ask(watch, 2, (struct bytes[]){ BYTES("INFO"), BYTES("server") }, &reply, NULL, &unheard) < 0 ||
	    !reply_is_text(reply))
		return UNKNOWN;
	us = redis_info_number(reply_bytes(reply), "server_time_usec");
	return us == UNKNOWN ? UNKNOWN : us / 1000;
}

int64_t stream_server_ms(struct stream_watch *watch)
{
	struct trouble unheard;
	redisReply *reply;
	int64_t us;

	if (watch->no_time)
		return info_ms(watch);
	if (watch_ask(watch, 1, (struct bytes[]){ BYTES("TIME") }, &reply, NULL, &unheard) < 0 ||
	    reply->type != REDIS_REPLY_ARRAY || reply->elements != 2) {
		watch->no_time = true;
		return watch->lost ? UNKNOWN : info_ms(watch);
	}
	us = redis_time_us(reply);
	return us == UNKNOWN ? UNKNOWN : us / 1000;
}

/* --- a group ------------------------------------------------------------------------------------------------------ */

static int add_consumers(struct stream_visit *v, struct group_look *look, struct stream_consumers *consumers,
			 struct trouble *t)
{
	for (size_t i = 0; i < consumers->count; i++) {
		const struct stream_consumer_state *c = &consumers->items[i];
		bool twice = name_index_find(look->consumers, c->name) != UNKNOWN;
		const struct fact_stream_consumer row = {
			.group_id = look->group_id,
			.name = c->name,
			.pending = c->pending,
			.idle_ms = c->idle_ms,
			.inactive_ms = c->inactive_ms,
		};
		int64_t id = twice ? trouble_set(t, "XINFO CONSUMERS: one consumer twice")
				   : stream_rows_consumer(&v->watch->rows, &row, t);

		if (id < 0)
			return -1;
		name_index_add(look->consumers, c->name, id);
	}
	return 0;
}

static int look_at_pending(struct stream_visit *v, struct group_look *look, struct trouble *t)
{
	struct stream_consumers consumers;
	redisReply *reply;
	int result;

	if (watch_ask(v->watch, 4, (struct bytes[]){ BYTES("XINFO"), BYTES("CONSUMERS"), v->name->key, look->name },
		      &reply, NULL, t) < 0 ||
	    stream_consumers_read(reply, &consumers, t) < 0)
		return -1;
	look->consumers = name_index_new(consumers.count);
	result = add_consumers(v, look, &consumers, t);
	if (result == 0)
		result = stream_pending_read(v->watch, look, t);
	if (result == 0)
		result = stream_confirm(v->watch, look, t);
	if (stream_pending_flush(&v->watch->rows, result < 0 ? NULL : t) < 0 ||
	    stream_rows_histogram(&v->watch->rows, look->group_id, &look->histogram, result < 0 ? NULL : t) < 0)
		result = -1;
	name_index_free(look->consumers);
	stream_consumers_release(&consumers);
	return result;
}

static struct fact_stream_group group_row(const struct stream_visit *v, const struct stream_group_state *group)
{
	return (struct fact_stream_group){
		.stream_id = v->stream_id,
		.name = group->name,
		.read_us = run_now_us(v->watch->run),
		.consumers = group->consumers,
		.pending = group->pending,
		.last_delivered = stream_id_bytes(&group->last_delivered),
		.entries_read = group->entries_read,
		.lag = group->lag,
		.consumers_after = UNKNOWN,
		.pending_after = UNKNOWN,
		.entries_read_after = UNKNOWN,
		.lag_after = UNKNOWN,
		.threshold = UNKNOWN,
		.listed = UNKNOWN,
		.kept = UNKNOWN,
		.acknowledged = UNKNOWN,
	};
}

static void look_at_group(struct stream_visit *v, const struct stream_group_state *group)
{
	struct fact_stream_group row = group_row(v, group);
	struct group_look look = { .key = v->name->key, .name = group->name, .threshold = UNKNOWN };
	struct group_end *end = &v->ends[v->end_count];
	struct trouble what = { 0 };

	look.group_id = stream_rows_group(&v->watch->rows, &row, NULL);
	if (look.group_id < 0)
		return;
	v->end_count++;
	*end = (struct group_end){ .before = group, .group_id = look.group_id, .end = row };
	if (redis_seen_add(&v->watch->seen, key_hash(group->name.at, group->name.size), group->name.at,
			   group->name.size))
		stream_names_add(&v->watch->groups, group->name, false);
	if (look_at_pending(v, &look, &what) < 0) {
		end->trouble = xstrdup(what.text);
		if (!run_stopped(v->watch->run))
			note_group(v, group->name, &what);
	}
	stream_histogram_release(&look.histogram);
	free(look.suspects);
	end->end.threshold = look.threshold;
	end->end.listed = look.listed;
	end->end.kept = look.kept;
	end->end.acknowledged = look.acknowledged;
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

static bool is_wanted(const struct stream_config *config, struct bytes name)
{
	if (!stream_match(config->group, name))
		return false;
	for (size_t i = 0; i < config->excluded_count; i++)
		if (stream_match(config->excluded[i], name))
			return false;
	return true;
}

/* The group that the config names is not on this stream. With a glob of streams it need not be on every one. */
static void miss_group(struct stream_visit *v)
{
	const struct stream_config *config = v->watch->config;
	const struct stream_group_state nothing = {
		.name = { config->group, strlen(config->group) },
		.consumers = UNKNOWN,
		.pending = UNKNOWN,
		.entries_read = UNKNOWN,
		.lag = UNKNOWN,
	};
	struct fact_stream_group row = group_row(v, &nothing);
	struct trouble what;

	trouble_set(&what, "the stream has no such group");
	row.trouble = what.text;
	if (stream_rows_group(&v->watch->rows, &row, NULL) < 0)
		return;
	note_group(v, nothing.name, &what);
}

/* It was there, and the look broke off before its turn came: without a row it would be gone. */
static void pass_group(struct stream_visit *v, const struct stream_group_state *group)
{
	struct fact_stream_group row = group_row(v, group);

	row.trouble = v->watch->lost ? "the server does not answer" : "stopped";
	stream_rows_group(&v->watch->rows, &row, NULL);
}

static void look_at_groups(struct stream_visit *v)
{
	const struct stream_config *config = v->watch->config;
	bool met = false;

	v->ends = xarray(v->groups.count, sizeof(*v->ends));
	for (size_t i = 0; i < v->groups.count && !v->watch->rows.failed; i++) {
		const struct stream_group_state *group = &v->groups.items[i];

		if (!is_wanted(config, group->name) || stream_groups_find(&v->groups, group->name) != group)
			continue;
		met = true;
		if (watch_over(v->watch))
			pass_group(v, group);
		else
			look_at_group(v, group);
	}
	v->watch->met_group |= met;
	v->watch->passed_group |= !met && v->groups.count > 0;
	if (!met && v->name->named && !stream_is_glob(config->group) && !watch_over(v->watch))
		miss_group(v);
}

static int ask_groups(struct stream_visit *v, struct stream_groups *groups, struct trouble *t)
{
	redisReply *reply;

	if (FAULT(STREAM_INFO))
		return trouble_set(t, "XINFO: refused");
	if (watch_ask(v->watch, 3, (struct bytes[]){ BYTES("XINFO"), BYTES("GROUPS"), v->name->key }, &reply, NULL, t) <
	    0)
		return -1;
	return stream_groups_read(reply, groups, t);
}

/* Groups again, once the pending entries were read. Where that fails, no group claims to have been looked at whole. */
static void look_after(struct stream_visit *v)
{
	struct stream_groups after = { 0 };
	struct trouble what = { 0 };
	int asked = 0;

	if (v->end_count) {
		if (watch_over(v->watch))
			asked = trouble_set(&what, "stopped");
		else
			asked = ask_groups(v, &after, &what);
	}
	if (asked < 0 && !watch_over(v->watch)) {
		struct trouble again = what;

		note_stream(v, &again);
	}
	for (size_t i = 0; i < v->end_count; i++) {
		struct group_end *end = &v->ends[i];
		const struct stream_group_state *now = stream_groups_find(&after, end->before->name);

		end->end.trouble = end->trouble ? end->trouble : asked < 0 ? what.text : NULL;
		if (now) {
			end->end.consumers_after = now->consumers;
			end->end.pending_after = now->pending;
			end->end.last_delivered_after = stream_id_bytes(&now->last_delivered);
			end->end.entries_read_after = now->entries_read;
			end->end.lag_after = now->lag;
		}
		stream_rows_group_end(&v->watch->rows, end->group_id, &end->end, NULL);
		free(end->trouble);
	}
	stream_groups_release(&after);
}

/* --- the stream --------------------------------------------------------------------------------------------------- */

static struct fact_stream stream_row(const struct stream_visit *v, int64_t server_ms)
{
	return (struct fact_stream){
		.watch_id = v->watch->watch_id,
		.redis_key = v->name->key,
		.role = "source",
		.present = 1,
		.read_us = run_now_us(v->watch->run),
		.server_ms = server_ms,
		.length = UNKNOWN,
		.entries_added = UNKNOWN,
		.groups = UNKNOWN,
		.listed = UNKNOWN,
	};
}

int stream_ask_state(struct stream_watch *watch, struct bytes key, struct stream_state *state, enum redis_fault *fault,
		     struct trouble *t)
{
	redisReply *reply = NULL;

	if (watch_ask(watch, 3, (struct bytes[]){ BYTES("XINFO"), BYTES("STREAM"), key }, &reply, fault, t) == 0)
		return stream_state_read(reply, state, t) < 0 ? -1 : 1;
	if (*fault == REDIS_FAULT_OTHER && !strncmp(reply->str, "ERR no such key", 15)) {
		trouble_set(t, "there is no such stream");
		return 0;
	}
	return *fault == REDIS_FAULT_WRONG_TYPE ? trouble_set(t, "the key does not hold a stream") : -1;
}

void stream_look_at(struct stream_watch *watch, const struct stream_name *name)
{
	struct stream_visit v = { .watch = watch, .name = name };
	struct fact_stream row;
	struct trouble what = { 0 };
	bool told = watch->lost; /* whoever lost the server said so */
	enum redis_fault fault = REDIS_FAULT_NONE;
	int found = -1;

	if (watch->lost)
		trouble_set(&what, "the server does not answer");
	row = stream_row(&v, watch->lost ? UNKNOWN : stream_server_ms(watch));
	if (!watch->lost)
		found = stream_ask_state(watch, name->key, &v.state, &fault, &what);
	if (fault == REDIS_FAULT_WRONG_TYPE)
		found = 0;
	if (found > 0 && ask_groups(&v, &v.groups, &what) < 0)
		found = -1;
	if (found != 0 && v.state.last_generated.known) {
		row.length = v.state.length;
		row.last_generated = stream_id_bytes(&v.state.last_generated);
		row.first_entry = stream_id_bytes(&v.state.first_entry);
		row.last_entry = stream_id_bytes(&v.state.last_entry);
		row.max_deleted = stream_id_bytes(&v.state.max_deleted);
		row.entries_added = v.state.entries_added;
		row.groups = v.state.groups;
	}
	row.present = found != 0;
	watch->met_stream |= found > 0;
	row.trouble = found < 0 || (found == 0 && name->named) ? what.text : NULL;
	v.stream_id = stream_rows_stream(&watch->rows, &row, NULL);
	if (row.trouble && !told && !run_stopped(watch->run))
		note_stream(&v, &what);
	if (found > 0 && v.stream_id >= 0) {
		look_at_groups(&v);
		look_after(&v);
	}
	stream_groups_release(&v.groups);
	free(v.ends);
}

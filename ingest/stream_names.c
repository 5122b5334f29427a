/* stream_names: which streams a watch is about. */
#include <stdio.h>
#include <stdlib.h>

#include "ingest/stream_match.h"
#include "ingest/stream_watch.h"
#include "sql/db.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"
#include "sql_data.h"

void stream_names_add(struct stream_names *names, struct bytes key, bool named)
{
	if ((names->count & (names->count - 1)) == 0) /* a power of two: full */
		names->items = xgrow(names->items, names->count ? names->count * 2 : 1, sizeof(*names->items));
	names->items[names->count++] = (struct stream_name){
		.key = { xmemdup(key.at, key.size), key.size },
		.named = named,
	};
}

void stream_names_release(struct stream_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free((void *)names->items[i].key.at);
	free(names->items);
	*names = (struct stream_names){ 0 };
}

int stream_names_earlier(struct stream_watch *watch, sqlite3 *db, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int more;

	if (db_prepare(db, sql_queries_stream_earlier, &stmt, t) < 0)
		return -1;
	db_bind_text(stmt, 1, watch->config->name);
	db_bind_text(stmt, 2, watch->config->redis.address);
	db_bind_int(stmt, 3, watch->run->id);
	while ((more = db_step(stmt, t)) > 0) {
		const void *at = sqlite3_column_blob(stmt, 0);
		struct bytes key = { at ? at : "", (size_t)sqlite3_column_bytes(stmt, 0) };

		if (stream_match(watch->config->key, key))
			stream_names_add(&watch->names, key, false);
	}
	sqlite3_finalize(stmt);
	return more;
}

/* --- SCAN --------------------------------------------------------------------------------------------------------- */

struct name_scan {
	struct stream_watch *watch;
	struct redis_seen seen;
	char cursor[32];
};

static int odd_reply(struct trouble *t)
{
	return trouble_set(t, "SCAN: a reply of another shape than Redis gives");
}

static void take_name(struct name_scan *scan, struct bytes key)
{
	if (redis_seen_add(&scan->seen, key_hash(key.at, key.size), key.at, key.size))
		stream_names_add(&scan->watch->names, key, false);
}

static int take_names(struct name_scan *scan, const redisReply *reply, struct trouble *t)
{
	const redisReply *keys;

	if (FAULT(STREAM_NAMES))
		return trouble_set(t, "SCAN: refused");
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || !reply_is_text(reply->element[0]) ||
	    reply->element[0]->len >= sizeof(scan->cursor) || reply->element[1]->type != REDIS_REPLY_ARRAY)
		return odd_reply(t);
	snprintf(scan->cursor, sizeof(scan->cursor), "%s", reply->element[0]->str);
	keys = reply->element[1];
	for (size_t i = 0; i < keys->elements; i++) {
		if (!reply_is_text(keys->element[i]))
			return odd_reply(t);
		take_name(scan, reply_bytes(keys->element[i]));
	}
	return 0;
}

static int scan_page(struct name_scan *scan, struct trouble *t)
{
	struct stream_watch *w = scan->watch;
	struct sampler *s = w->sampler;
	int64_t count = redis_rate_page(&s->rate);
	char number[24];
	int size = snprintf(number, sizeof(number), "%lld", (long long)count);
	redisReply *reply;

	redis_rate_take(&s->rate, w->run, count);
	if (watch_ask(w, 8,
		      (struct bytes[]){ BYTES("SCAN"),
					{ scan->cursor, strlen(scan->cursor) },
					BYTES("MATCH"),
					{ w->config->key, strlen(w->config->key) },
					BYTES("COUNT"),
					{ number, (size_t)size },
					BYTES("TYPE"),
					BYTES("stream") },
		      &reply, NULL, t) < 0)
		return -1;
	return take_names(scan, reply, t);
}

static int scan_names(struct name_scan *scan, struct trouble *t)
{
	int process = redis_conn_process(scan->watch->sampler->conn);

	do {
		if (run_stopped(scan->watch->run))
			return trouble_set(t, "stopped");
		if (scan_page(scan, t) < 0)
			return -1;
		if (redis_conn_process(scan->watch->sampler->conn) != process)
			return trouble_set(t, "the server was restarted or replaced during the scan, and its cursor "
					      "means nothing there");
	} while (strcmp(scan->cursor, "0"));
	return 0;
}

static int in_order(const void *left, const void *right)
{
	const struct bytes *a = &((const struct stream_name *)left)->key,
			   *b = &((const struct stream_name *)right)->key;
	int order = memcmp(a->at, b->at, a->size < b->size ? a->size : b->size);

	return order ? order : a->size < b->size ? -1 : a->size > b->size;
}

static int find_by_glob(struct stream_watch *watch, struct trouble *t)
{
	struct name_scan scan = { .watch = watch, .cursor = "0" };
	int result;

	for (size_t i = 0; i < watch->names.count; i++) {
		struct bytes key = watch->names.items[i].key;

		redis_seen_add(&scan.seen, key_hash(key.at, key.size), key.at, key.size);
	}
	result = scan_names(&scan, t);
	redis_seen_release(&scan.seen);
	if (watch->names.count)
		qsort(watch->names.items, watch->names.count, sizeof(*watch->names.items), in_order);
	return result;
}

int stream_names_find(struct stream_watch *watch, struct trouble *t)
{
	const char *key = watch->config->key;

	if (stream_is_glob(key)) {
		if (find_by_glob(watch, t) < 0)
			return trouble_wrap(t, "find the streams %s", key);
		return 0;
	}
	stream_names_release(&watch->names);
	stream_names_add(&watch->names, (struct bytes){ key, strlen(key) }, true);
	return 0;
}

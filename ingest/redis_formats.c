/*
 * redis_formats: the guard of the mapping. Where no record key exists in Redis, a wrong key.format is likelier than as
 * many lost fences: some record keys are asked for under every format.
 */
#include "ingest/sampler.h"

#include <stdlib.h>

#include "sql/faultpoint.h"

enum { KEYS_MOST = 1000, WINDOW = 100 };

/* Some record keys under every format that can render them, as EXISTS in one pipeline. */
struct window {
	struct buffer commands, redis_key;
	size_t count, keys;
	uint8_t guess[WINDOW * KEY_GUESSES]; /* of each command */
};

static void add_part(struct window *w, const struct sample_subject *subject, enum keypart part, struct key_bytes key)
{
	for (int f = 0; f < KEY_FORMAT_COUNT; f++) {
		if (!template_render(subject->pipeline->key, (enum key_format)f, subject->topic, key.bytes, key.len,
				     &w->redis_key))
			continue;
		redis_format(&w->commands, 2,
			     (struct bytes[]){ BYTES("EXISTS"), { w->redis_key.data, w->redis_key.size } });
		w->guess[w->count++] = (uint8_t)(part * KEY_FORMAT_COUNT + f);
	}
}

static void add_key(struct window *w, const struct sample_subject *subject, const struct keyset_entry *entry)
{
	struct key_bytes whole = { entry->key, entry->size }, key;
	int parts = subject->pipeline->key_part == KEYPART_WHOLE ? KEY_PARTS_TRIED : 1; /* of a part there is no other */

	for (int part = 0; part < parts; part++)
		if (keypart_of((enum keypart)part, whole, &key))
			add_part(w, subject, (enum keypart)part, key);
	w->keys++;
}

_Static_assert(KEY_GUESSES <= UINT8_MAX + 1, "a guess fits its byte");

/* 1; 0 the link is lost; -1 trouble. */
static int count_hits(struct redis_conn *conn, const struct window *w, int64_t *hits, struct trouble *t)
{
	struct reply_origin origin = redis_conn_origin(conn, "EXISTS");
	redisReply *reply;
	int got;

	redis_conn_send(conn, &w->commands);
	got = redis_conn_flush(conn, t);
	for (size_t i = 0; got > 0 && i < w->count; i++) {
		got = redis_conn_receive(conn, &reply, t);
		if (got <= 0)
			break;
		if (FAULT(REDIS_EXISTS))
			return trouble_set(t, "EXISTS: refused");
		if (reply->type == REDIS_REPLY_ERROR)
			return reply_trouble(reply, &origin, t);
		hits[w->guess[i]] += reply->type == REDIS_REPLY_INTEGER && reply->integer > 0;
	}
	redis_conn_forget(conn);
	return got;
}

/* Asks, again after a lost link, and empties the window. 0 or -1. */
static int ask_window(struct sampler *s, struct window *w, int64_t *hits, struct trouble *t)
{
	int64_t found[KEY_GUESSES] = { 0 };
	int got = 0;

	redis_rate_take(&s->rate, s->run, (int64_t)w->keys);
	while (got == 0) {
		memset(found, 0, sizeof(found));
		if (redis_conn_reopen(s->conn, t) < 0)
			return -1;
		got = run_stopped(s->run) ? trouble_set(t, "stopped") : count_hits(s->conn, w, found, t);
	}
	for (int i = 0; got > 0 && i < KEY_GUESSES; i++)
		hits[i] += found[i];
	w->commands.size = w->count = w->keys = 0;
	return got > 0 ? 0 : -1;
}

int sampler_try_formats(struct sampler *sampler, const struct sample_subject *subject, struct keyset *keys,
			int64_t *tried, int64_t *hits, struct trouble *t)
{
	int64_t stride = (keyset_count(keys) + KEYS_MOST - 1) / KEYS_MOST, n = 0;
	struct window window = { .count = 0 };
	const struct keyset_entry *entry;
	int result = 0;

	for (size_t at = 0; result == 0 && (entry = keyset_next(keys, &at)) != NULL; n++) {
		if (n % stride)
			continue;
		add_key(&window, subject, entry);
		(*tried)++;
		if (window.keys == WINDOW)
			result = ask_window(sampler, &window, hits, t);
	}
	if (result == 0 && window.keys)
		result = ask_window(sampler, &window, hits, t);
	buffer_release(&window.commands);
	buffer_release(&window.redis_key);
	if (result == 0)
		return 0;
	redis_conn_drop(sampler->conn);
	return trouble_wrap(t, "redis %s: try key formats", sampler->redis->address);
}

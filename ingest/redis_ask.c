/*
 * redis_ask: looks at keys by name: those of the key set that no scan has shown. What is not there becomes a row as
 * well.
 */
#include "ingest/sampler.h"

#include <stdlib.h>

#include "ingest/redis_look.h"

enum { PAGE_BYTES = 4 << 20 };

struct ask {
	struct look look;
	const struct sample_subject *subject;
	struct keyset *keys;
	struct sample_counts *counts;
	struct look_batch pages[2];
	struct buffer redis_key;
	size_t at;
};

/* The Redis key of a record key. */
static bool name_key(struct ask *ask, const struct keyset_entry *entry, struct bytes *redis_key)
{
	const struct pipeline_config *p = ask->subject->pipeline;

	if (!template_render(p->key, p->key_format, ask->subject->topic, entry->key, entry->size, &ask->redis_key))
		return false;
	*redis_key =
		(struct bytes){ ask->redis_key.data ? (const void *)ask->redis_key.data : "", ask->redis_key.size };
	return !look_is_rivals(&ask->look, *redis_key);
}

/* The next keys that are not seen yet into page, and those that must be asked again. */
static void fill(struct ask *ask, struct look_batch *page)
{
	size_t most = (size_t)redis_rate_page(&ask->look.sampler->rate);
	struct keyset_entry *entry;

	look_batch_clear(page);
	look_take_again(&ask->look, page);
	if (most > ask->look.window)
		most = ask->look.window;
	while (page->count < most && page->bytes.size < PAGE_BYTES &&
	       (entry = keyset_next(ask->keys, &ask->at)) != NULL) {
		struct look_key key = {
			.hash = entry->hash,
			.key = { entry->key, entry->size },
			.strata = entry->strata,
			.in_set = true,
		};

		if (entry->seen)
			continue;
		if (!name_key(ask, entry, &key.redis_key)) {
			ask->counts->nameless++;
			continue;
		}
		keyset_see(entry);
		look_batch_add(page, &key);
		ask->counts->asked++;
	}
}

/* Sends one page while the one before is on its way. 1 more to do; 0 done; -1 trouble. */
static int step(struct ask *ask, struct look_batch *page, struct look_batch *before, struct trouble *t)
{
	struct sampler *s = ask->look.sampler;
	int got;

	fill(ask, page);
	redis_rate_take(&s->rate, s->run, (int64_t)page->count);
	got = !look_fits(&ask->look, page) && look_batch_open(before) ? look_receive(&ask->look, before, t) : 1;
	if (got > 0)
		got = look_shorten(&ask->look, page, t);
	if (got > 0) {
		look_send(&ask->look, page);
		got = redis_conn_flush(s->conn, t);
	}
	if (got > 0 && look_batch_open(before))
		got = look_receive(&ask->look, before, t);
	if (got == 0 && (look_finish(&ask->look, before, t) < 0 || look_finish(&ask->look, page, t) < 0))
		got = -1;
	return got < 0 ? -1 : page->count > 0 || ask->look.again.count > 0;
}

static int ask_all(struct ask *ask, struct trouble *t)
{
	struct sampler *s = ask->look.sampler;
	int64_t total = keyset_count(ask->keys);
	int more = 1;

	ask->counts->nameless = 0;
	if (look_at_field_ttls(&ask->look, t) < 0)
		return -1;
	for (size_t i = 0; more > 0; i ^= 1) {
		more = run_stopped(s->run) ? trouble_set(t, "stopped")
					   : step(ask, &ask->pages[i], &ask->pages[i ^ 1], t);
		run_progress(s->run, "sample", "keys", (int64_t)ask->at, total);
	}
	return more < 0 ? -1 : look_settle_field_ttls(&ask->look, t);
}

static void ask_release(struct ask *ask)
{
	look_release(&ask->look);
	look_batch_release(&ask->pages[0]);
	look_batch_release(&ask->pages[1]);
	buffer_release(&ask->redis_key);
}

int sampler_ask(struct sampler *sampler, struct writer *writer, const struct sample_subject *subject,
		struct keyset *keys, struct sample_counts *counts, struct trouble *t)
{
	struct ask ask = { .subject = subject, .keys = keys, .counts = counts };
	int result;

	look_init(&ask.look, sampler, writer, subject, keys);
	result = ask_all(&ask, t);
	if (result < 0) {
		trouble_wrap(t, "redis %s: ask for keys", sampler->redis->address);
		redis_conn_drop(sampler->conn);
		look_unsee_open(&ask.look, ask.pages, 2);
	}
	if (sample_flush(&ask.look.sink, result < 0 ? NULL : t) < 0 ||
	    sample_mark_recent(&ask.look.sink, subject->topic_id, keys, result < 0 ? NULL : t) < 0)
		result = -1;
	ask_release(&ask);
	return result;
}

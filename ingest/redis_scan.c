/*
 * redis_scan: SCAN, and a look at every key that it shows and that is in the sample.
 *
 * On the wire: SCAN 1 | SCAN 2, keys of page 1 | SCAN 3, keys of page 2 | ... While the server works on one page, the
 * replies to the one before become rows, so that neither side waits for the other. After a lost connection to the same
 * process the pages in flight are asked again, and the scan goes on from the last cursor that came back; another
 * process knows nothing of it, and the scan is incomplete.
 */
#include "ingest/sampler.h"

#include <stdio.h>
#include <stdlib.h>

#include "ingest/redis_look.h"
#include "ingest/redis_seen.h"
#include "sql/faultpoint.h"

enum {
	OTHERS_SHARE = 4, /* of --memory, the part that keys without a record may take */
	WALK_LEAST = 10,
	WALK_FIRST = 100,
	PAGE_BYTES = 4 << 20,
	PASSED_FOR_ONE = 5, /* keys that SCAN passes, for the price of one that is asked for */
};

struct scan {
	struct look look;
	const struct sample_subject *subject;
	struct keyset *keys;
	struct sample_counts *counts;
	struct look_batch pages[2];
	char *match;
	size_t match_size;
	char cursor[32]; /* of the next SCAN, or of the one in flight */
	bool done;       /* the cursor came back to 0 */
	int process;     /* that gave the cursor */
	int64_t walk;    /* COUNT: keys to walk with one SCAN */
	struct buffer record_key, text, command;
	struct redis_seen others; /* keys taken that the key set does not have */
};

/* --- which keys --------------------------------------------------------------------------------------------------- */

/*
 * Redis may have far more keys than the history, none of which the pass over the history saw: then T is too high for
 * this side, and halves until they fit. What was taken above it is outside the sample from now on.
 */
static void fit_others(struct scan *scan)
{
	struct sampler *s = scan->look.sampler;
	const struct keyset_entry *entry;

	while (redis_seen_count(&scan->others) && (redis_seen_count(&scan->others) > keyset_limit(scan->keys) ||
						   redis_seen_bytes(&scan->others) > s->run->memory / OTHERS_SHARE)) {
		keyset_halve(scan->keys);
		redis_seen_cut(&scan->others, keyset_main_threshold(scan->keys));
		scan->counts->taken = redis_seen_count(&scan->others);
		for (size_t at = 0; (entry = keyset_next(scan->keys, &at)) != NULL;)
			scan->counts->taken += entry->seen && (entry->strata & STRATUM_MAIN);
	}
}

/* False where the key was taken before. */
static bool take_item(struct scan *scan, const struct look_batch *page, struct look_item *item)
{
	struct look_key key = look_key_of(page, item);
	struct keyset_entry *entry = keyset_find(scan->keys, key.hash, key.key.at, key.key.size);

	if (!entry)
		return redis_seen_add(&scan->others, key.hash, key.key.at, key.key.size);
	if (entry->seen)
		return false;
	keyset_see(entry);
	item->in_set = true;
	item->strata = entry->strata;
	return true;
}

/* Keeps of the page what was not taken before. */
static void take_items(struct scan *scan, struct look_batch *page)
{
	size_t kept = 0;

	for (size_t i = 0; i < page->count; i++)
		if (take_item(scan, page, &page->items[i]))
			page->items[kept++] = page->items[i];
	scan->counts->scanned += (int64_t)kept;
	scan->counts->taken += (int64_t)kept;
	page->count = kept;
}

/* The record key in the scan's buffer, and its hash. */
static void set_key(const struct scan *scan, struct look_key *key)
{
	key->key = (struct bytes){ scan->record_key.data ? (const void *)scan->record_key.data : "",
				   scan->record_key.size };
	key->hash = keyset_hash(key->key.at, key->key.size);
}

/* The record key that is behind prefix number i of the history. */
static void set_prefixed(struct scan *scan, size_t i, struct look_key *key)
{
	const struct key_prefixes *prefixes = keyset_prefixes(scan->keys);

	buffer_clear(&scan->record_key);
	buffer_add(&scan->record_key, prefixes->bytes[i], key_format_prefix(prefixes->format));
	buffer_add(&scan->record_key, scan->text.data, scan->text.size);
	set_key(scan, key);
}

/*
 * Behind several prefixes, the record key that the history has; where it has none, any, provided that the sample would
 * have shown each. false: it cannot be told. Outside the sample, the hash is at or above the threshold.
 */
static bool choose_prefix(struct scan *scan, struct look_key *key)
{
	const struct key_prefixes *prefixes = keyset_prefixes(scan->keys);
	int64_t highest = 0;

	for (size_t i = 0; i < prefixes->count; i++) {
		set_prefixed(scan, i, key);
		if (keyset_find(scan->keys, key->hash, key->key.at, key->key.size))
			return true;
		highest = key->hash > highest ? key->hash : highest;
	}
	if (!prefixes->count || prefixes->more)
		return false;
	set_prefixed(scan, 0, key);
	key->hash = highest < keyset_main_threshold(scan->keys) ? key->hash : INT64_MAX;
	return true;
}

/* The record key of a Redis key into the scan's buffer. */
static bool read_key(struct scan *scan, struct bytes redis_key, struct look_key *key)
{
	const struct pipeline_config *p = scan->subject->pipeline;
	bool prefixed = key_format_prefix(p->key_format) > 0;

	if (!template_parse(p->key, p->key_format, scan->subject->topic, redis_key.at, redis_key.size,
			    prefixed ? &scan->text : &scan->record_key))
		return false;
	if (prefixed)
		return choose_prefix(scan, key);
	set_key(scan, key);
	return true;
}

/*
 * A key that is in the sample goes onto the page; where it is to be found in our own sets is fetched while the next
 * ones are considered.
 */
static void consider(struct scan *scan, struct bytes redis_key, struct look_batch *page)
{
	struct look_key key = { .redis_key = redis_key, .strata = STRATUM_MAIN };

	if (look_is_rivals(&scan->look, redis_key))
		return;
	if (!read_key(scan, redis_key, &key)) {
		scan->counts->scanned++;
		scan->counts->unparsed++;
		return;
	}
	if (key.hash >= keyset_main_threshold(scan->keys)) {
		scan->counts->scanned++;
		return;
	}
	keyset_prefetch(scan->keys, key.hash);
	redis_seen_prefetch(&scan->others, key.hash);
	look_batch_add(page, &key);
}

/* --- the wire ----------------------------------------------------------------------------------------------------- */

static void send_scan(struct scan *scan)
{
	char count[24];
	int size = snprintf(count, sizeof(count), "%lld", (long long)scan->walk);

	scan->command.size = 0;
	redis_format(&scan->command, 6,
		     (struct bytes[]){ BYTES("SCAN"),
				       { scan->cursor, strlen(scan->cursor) },
				       BYTES("MATCH"),
				       { scan->match, scan->match_size },
				       BYTES("COUNT"),
				       { count, (size_t)size } });
	redis_conn_send(scan->look.sampler->conn, &scan->command);
}

/* Long keys: fewer with one SCAN. The first page is small, for nobody knows how long they are. */
static void adapt_walk(struct scan *scan, const struct look_batch *page)
{
	int64_t most = redis_rate_page(&scan->look.sampler->rate), next = scan->walk * 10;
	int64_t fit = scan->walk * PAGE_BYTES / ((int64_t)page->bytes.size + 1);

	next = next < fit ? next : fit;
	scan->walk = next > most ? most : next > WALK_LEAST ? next : WALK_LEAST;
}

/* A SCAN's reply: the next cursor, and keys into page. */
static int take_page(struct scan *scan, const redisReply *reply, struct look_batch *page, struct trouble *t)
{
	struct reply_origin origin = redis_conn_origin(scan->look.sampler->conn, "SCAN");
	const redisReply *keys;

	if (FAULT(REDIS_SCAN))
		return trouble_set(t, "SCAN: refused");
	if (reply->type == REDIS_REPLY_ERROR)
		return reply_trouble(reply, &origin, t);
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || !reply_is_text(reply->element[0]) ||
	    reply->element[0]->len >= sizeof(scan->cursor) || reply->element[1]->type != REDIS_REPLY_ARRAY)
		return trouble_set(t, "SCAN: a reply of another shape than Redis gives");
	snprintf(scan->cursor, sizeof(scan->cursor), "%s", reply->element[0]->str);
	scan->done = !strcmp(scan->cursor, "0");
	keys = reply->element[1];
	look_batch_clear(page);
	for (size_t i = 0; i < keys->elements; i++)
		consider(scan, reply_bytes(keys->element[i]), page);
	take_items(scan, page);
	fit_others(scan);
	adapt_walk(scan, page);
	look_take_again(&scan->look, page);
	return 1;
}

/* SCAN passes a key for less than a fifth of what HMGET and PTTL cost the server. */
static void pay(struct scan *scan, const struct look_batch *page)
{
	struct sampler *s = scan->look.sampler;
	int64_t asked = (int64_t)page->count, passed = scan->walk > asked ? scan->walk - asked : 0;

	redis_rate_take(&s->rate, s->run, asked + passed / PASSED_FOR_ONE);
}

/*
 * Receives the page in flight, sends the next SCAN and the page's looks, and receives the looks of the page before. 1;
 * 0 the link is lost; -1 trouble.
 */
static int step(struct scan *scan, struct trouble *t)
{
	struct redis_conn *conn = scan->look.sampler->conn;
	struct look_batch *before = look_batch_open(&scan->pages[0]) ? &scan->pages[0] : &scan->pages[1];
	struct look_batch *page = before == &scan->pages[0] ? &scan->pages[1] : &scan->pages[0];
	redisReply *reply;
	int got = redis_conn_receive(conn, &reply, t);

	if (got > 0)
		got = take_page(scan, reply, page, t);
	if (got <= 0)
		return got;
	pay(scan, page);
	if (!look_fits(&scan->look, page)) {
		got = look_receive(&scan->look, before, t);
		if (got > 0)
			got = look_shorten(&scan->look, page, t);
		if (got <= 0)
			return got;
	}
	if (!scan->done)
		send_scan(scan);
	look_send(&scan->look, page);
	got = redis_conn_flush(conn, t);
	return got > 0 && look_batch_open(before) ? look_receive(&scan->look, before, t) : got;
}

/* After a lost link: what was in flight is asked again. */
static int recover(struct scan *scan, struct trouble *t)
{
	struct redis_conn *conn = scan->look.sampler->conn;

	for (size_t i = 0; i < 2; i++)
		if (look_finish(&scan->look, &scan->pages[i], t) < 0)
			return -1;
	if (redis_conn_reopen(conn, t) < 0)
		return -1;
	if (redis_conn_process(conn) != scan->process)
		return trouble_set(
			t, "the server was restarted or replaced during the scan, and its cursor means nothing there");
	if (scan->done)
		return 0;
	send_scan(scan);
	return redis_conn_flush(conn, t) < 0 ? -1 : 0;
}

/* Looks that are still owed once SCAN is through. */
static int finish(struct scan *scan, struct trouble *t)
{
	int got = 1;

	for (size_t i = 0; i < 2 && got > 0; i++)
		if (look_batch_open(&scan->pages[i]))
			got = look_receive(&scan->look, &scan->pages[i], t);
	if (got < 0 || (got == 0 && recover(scan, t) < 0))
		return -1;
	while (scan->look.again.count) {
		look_batch_clear(&scan->pages[0]);
		look_take_again(&scan->look, &scan->pages[0]);
		if (look_finish(&scan->look, &scan->pages[0], t) < 0)
			return -1;
	}
	return 0;
}

static int scan_all(struct scan *scan, struct trouble *t)
{
	struct sampler *s = scan->look.sampler;

	if (look_at_field_ttls(&scan->look, t) < 0)
		return -1;
	scan->process = redis_conn_process(s->conn);
	send_scan(scan);
	if (redis_conn_flush(s->conn, t) < 0)
		return -1;
	while (!scan->done) {
		int got = run_stopped(s->run) ? trouble_set(t, "stopped") : step(scan, t);

		if (got < 0 || (got == 0 && recover(scan, t) < 0))
			return -1;
		run_progress(s->run, "sample", "keys", scan->counts->scanned, s->server_keys);
	}
	return finish(scan, t) < 0 ? -1 : look_settle_field_ttls(&scan->look, t);
}

static void scan_release(struct scan *scan)
{
	look_release(&scan->look);
	for (size_t i = 0; i < 2; i++)
		look_batch_release(&scan->pages[i]);
	redis_seen_release(&scan->others);
	buffer_release(&scan->record_key);
	buffer_release(&scan->text);
	buffer_release(&scan->command);
	free(scan->match);
}

int sampler_scan(struct sampler *sampler, struct writer *writer, const struct sample_subject *subject,
		 struct keyset *keys, struct sample_counts *counts, struct trouble *t)
{
	struct scan scan = { .subject = subject, .keys = keys, .counts = counts, .cursor = "0", .walk = WALK_FIRST };
	int result;

	counts->scan_trouble.text[0] = '\0';
	look_init(&scan.look, sampler, writer, subject, keys);
	scan.match = template_match(subject->pipeline->key, subject->topic, &scan.match_size);
	counts->scan_complete = scan_all(&scan, &counts->scan_trouble) == 0;
	if (!counts->scan_complete) {
		trouble_wrap(&counts->scan_trouble, "redis %s: scan", sampler->redis->address);
		redis_conn_drop(sampler->conn);
		look_unsee_open(&scan.look, scan.pages, 2);
	}
	result = sample_flush(&scan.look.sink, t);
	scan_release(&scan);
	return result;
}

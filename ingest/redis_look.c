/*
 * redis_look: the commands of a batch, and the loop over its replies. redis_row.c makes a row of the replies of one
 * key.
 */
#include "ingest/redis_look.h"

#include <stdlib.h>

#include "ingest/redis_row.h"
#include "sql/mem.h"

enum { WINDOW_MOST = 1000, WINDOW_FIRST_WITH_VALUE = 4, WINDOW_BYTES = 4 << 20 };

/* --- batches ------------------------------------------------------------------------------------------------------ */

void look_batch_add(struct look_batch *batch, const struct look_key *key)
{
	if (batch->count == batch->room) {
		batch->room = batch->room ? batch->room * 2 : 1024;
		batch->items = xgrow(batch->items, batch->room, sizeof(*batch->items));
	}
	batch->items[batch->count++] = (struct look_item){
		.hash = key->hash,
		.at = batch->bytes.size,
		.redis_size = key->redis_key.size,
		.key_size = key->key.size,
		.strata = key->strata,
		.tries = key->tries,
		.in_set = key->in_set,
	};
	buffer_add(&batch->bytes, key->redis_key.at, key->redis_key.size);
	buffer_add(&batch->bytes, key->key.at, key->key.size);
}

void look_batch_clear(struct look_batch *batch)
{
	batch->count = batch->sent = batch->answered = 0;
	batch->bytes.size = 0;
}

void look_batch_release(struct look_batch *batch)
{
	free(batch->items);
	buffer_release(&batch->bytes);
	*batch = (struct look_batch){ 0 };
}

struct look_key look_key_of(const struct look_batch *batch, const struct look_item *item)
{
	const uint8_t *at =
		batch->bytes.data ? batch->bytes.data + item->at : (const uint8_t *)""; /* an empty key is not NULL */

	return (struct look_key){
		.hash = item->hash,
		.redis_key = { at, item->redis_size },
		.key = { at + item->redis_size, item->key_size },
		.strata = item->strata,
		.tries = item->tries,
		.in_set = item->in_set,
	};
}

void look_take_again(struct look *look, struct look_batch *batch)
{
	for (size_t i = 0; i < look->again.count; i++) {
		struct look_key key = look_key_of(&look->again, &look->again.items[i]);

		look_batch_add(batch, &key);
	}
	look_batch_clear(&look->again);
}

/* --- the look ----------------------------------------------------------------------------------------------------- */

static struct bytes text_bytes(const char *text)
{
	return (struct bytes){ text, strlen(text) };
}

/*
 * Cuts a command that was formatted with an empty key into what stands before the key's length and what stands behind
 * the key.
 */
static void split(struct buffer *whole, struct buffer *head, struct buffer *tail)
{
	uint8_t *hole = memmem(whole->data, whole->size, "$0\r\n\r\n", 6);

	if (head)
		buffer_add(head, whole->data, (size_t)(hole - whole->data));
	buffer_add(tail, hole + 4, whole->size - (size_t)(hole + 4 - whole->data));
	buffer_release(whole);
}

static size_t prefix_size(const struct key_template *template, const char *topic)
{
	size_t size;

	free(template_prefix(template, topic, &size));
	return size;
}

static void add_rival(struct look *look, struct sample_rival rival, size_t own)
{
	if (prefix_size(rival.key, rival.topic) <= own)
		return;
	look->rivals = xgrow(look->rivals, look->rival_count + 1, sizeof(*look->rivals));
	look->rivals[look->rival_count++] = rival;
}

static void find_rivals(struct look *look, const struct sample_subject *subject)
{
	size_t own = prefix_size(subject->pipeline->key, subject->topic);

	for (size_t i = 0; i < subject->claim_count; i++)
		add_rival(look, subject->claims[i], own);
}

bool look_is_rivals(struct look *look, struct bytes redis_key)
{
	for (size_t i = 0; i < look->rival_count; i++) {
		const struct sample_rival *r = &look->rivals[i];

		if (template_parse(r->key, r->key_format, r->topic, redis_key.at, redis_key.size, &look->parsed))
			return true;
	}
	return false;
}

void look_init(struct look *look, struct sampler *sampler, struct writer *writer, const struct sample_subject *subject,
	       struct keyset *keys)
{
	const struct pipeline_config *p = subject->pipeline;
	bool value = p->state != STATE_OPAQUE && p->field_value && *p->field_value;
	struct bytes hmget[] = { BYTES("HMGET"), BYTES(""), text_bytes(p->field_offset), text_bytes(p->field_partition),
				 text_bytes(value ? p->field_value : "") };
	struct bytes hpttl[] = { BYTES("HPTTL"), BYTES(""), BYTES("FIELDS"), BYTES("2"), hmget[2], hmget[3] };
	struct buffer whole = { 0 };

	*look = (struct look){
		.sampler = sampler,
		.subject = subject,
		.keys = keys,
		.sink = { .run = sampler->run, .writer = writer },
		.fields = value ? 3 : 2,
		.window = value ? WINDOW_FIRST_WITH_VALUE : WINDOW_MOST,
	};
	redis_format(&whole, 2 + look->fields, hmget);
	split(&whole, &look->head, &look->tail);
	redis_format(&whole, 6, hpttl);
	split(&whole, NULL, &look->ttl_tail);
	find_rivals(look, subject);
}

int look_at_field_ttls(struct look *look, struct trouble *t)
{
	return sampler_look_at_keyspace(look->sampler, t);
}

int look_settle_field_ttls(struct look *look, struct trouble *t)
{
	struct sampler *s = look->sampler;

	if (s->field_ttl != FIELD_TTL_UNUSED)
		return 0;
	if (sampler_look_at_keyspace(s, t) < 0)
		return -1;
	if (s->field_ttl != FIELD_TTL_ASK)
		return 0;
	if (sample_flush(&look->sink, t) < 0)
		return -1;
	return sample_forget_field_ttls(&look->sink, look->subject->topic_id, t);
}

void look_release(struct look *look)
{
	buffer_release(&look->head);
	buffer_release(&look->tail);
	buffer_release(&look->ttl_tail);
	buffer_release(&look->out);
	look_batch_release(&look->again);
	buffer_release(&look->parsed);
	free(look->rivals);
}

static size_t write_number(char *out, size_t number)
{
	char digits[24];
	size_t n = 0, size = 0;

	do
		digits[n++] = (char)('0' + number % 10);
	while (number /= 10);
	while (n)
		out[size++] = digits[--n];
	return size;
}

/* head, then "$SIZE\r\nKEY", then tail, which begins with "\r\n". */
static void add_command(struct buffer *out, struct bytes head, struct bytes key, struct bytes tail)
{
	char size[32];
	size_t n = 1;

	size[0] = '$';
	n += write_number(size + 1, key.size);
	size[n++] = '\r';
	size[n++] = '\n';
	buffer_add(out, head.at, head.size);
	buffer_add(out, size, n);
	buffer_add(out, key.at, key.size);
	buffer_add(out, tail.at, tail.size);
}

static struct bytes all_of(const struct buffer *b)
{
	return (struct bytes){ b->data, b->size };
}

static void add_commands(struct look *look, const struct look_batch *batch, const struct look_item *item)
{
	struct bytes key = { batch->bytes.data + item->at, item->redis_size };

	add_command(&look->out, all_of(&look->head), key, all_of(&look->tail));
	add_command(&look->out, BYTES("*2\r\n$4\r\nPTTL\r\n"), key, BYTES("\r\n"));
	if (look->sampler->field_ttl == FIELD_TTL_ASK)
		add_command(&look->out, BYTES("*6\r\n$5\r\nHPTTL\r\n"), key, all_of(&look->ttl_tail));
	if (item->tries)
		add_command(&look->out, BYTES("*2\r\n$4\r\nTYPE\r\n"), key, BYTES("\r\n"));
}

/* Whether item i can be sent together with the first one that is not answered. */
static bool in_window(const struct look *look, const struct look_batch *batch, size_t i)
{
	const struct look_item *first = &batch->items[batch->answered], *item = &batch->items[i];

	return item == first ||
	       (i - batch->answered < look->window && item->at + item->redis_size - first->at <= WINDOW_BYTES);
}

bool look_fits(const struct look *look, const struct look_batch *batch)
{
	return !look_batch_open(batch) || in_window(look, batch, batch->count - 1);
}

void look_send(struct look *look, struct look_batch *batch)
{
	look->out.size = 0;
	for (batch->sent = batch->answered; batch->sent < batch->count && in_window(look, batch, batch->sent);
	     batch->sent++)
		add_commands(look, batch, &batch->items[batch->sent]);
	batch->asked_field_ttl = look->sampler->field_ttl == FIELD_TTL_ASK;
	redis_conn_send(look->sampler->conn, &look->out);
}

/* The replies of one item, in the order of add_commands. */
static int receive_item(struct look *look, const struct look_batch *batch, const struct look_item *item,
			struct row_replies *r, struct trouble *t)
{
	struct redis_conn *conn = look->sampler->conn;
	int got = redis_conn_receive(conn, &r->fields, t);

	r->field_ttls = r->type = NULL;
	if (got > 0)
		got = redis_conn_receive(conn, &r->ttl, t);
	if (got > 0 && batch->asked_field_ttl)
		got = redis_conn_receive(conn, &r->field_ttls, t);
	if (got > 0 && item->tries)
		got = redis_conn_receive(conn, &r->type, t);
	return got;
}

/* An answer is a row, or another question. */
static int take_answer(struct look *look, const struct look_key *key, const struct row_replies *replies, int64_t now_us,
		       struct trouble *t)
{
	struct row row;
	struct keyset_entry *entry;
	int made = row_make(look, key, replies, &row, t);

	if (made < 0)
		return -1;
	if (made == 0) {
		struct look_key again = *key;

		again.tries++;
		look_batch_add(&look->again, &again);
		return 0;
	}
	row.fence.sampled_us = now_us;
	if (!row.fence.present) {
		if (!key->in_set)
			return 0;
		entry = keyset_find(look->keys, key->hash, key->key.at, key->key.size);
		if (entry)
			entry->present = false;
	}
	return sample_add(&look->sink, &row.fence, t);
}

/* Large values: fewer at once, so that neither the server nor we hold many. */
static void adapt_window(struct look *look, size_t items, size_t bytes)
{
	size_t fit;

	if (look->fields < 3 || !items)
		return;
	fit = WINDOW_BYTES / (bytes / items + 1);
	if (fit > look->window * 4)
		fit = look->window * 4;
	look->window = fit > WINDOW_MOST ? WINDOW_MOST : fit ? fit : 1;
}

int look_receive(struct look *look, struct look_batch *batch, struct trouble *t)
{
	int64_t now_us = run_now_us(look->sampler->run);
	size_t items = batch->sent - batch->answered, bytes = 0;

	while (batch->answered < batch->sent) {
		const struct look_item *item = &batch->items[batch->answered];
		struct look_key key = look_key_of(batch, item);
		struct row_replies replies;
		int got = receive_item(look, batch, item, &replies, t);

		if (got <= 0)
			return got;
		if (look->fields == 3 && replies.fields->type == REDIS_REPLY_ARRAY && replies.fields->elements == 3)
			bytes += replies.fields->element[2]->len;
		if (take_answer(look, &key, &replies, now_us, t) < 0)
			return -1;
		batch->answered++;
	}
	redis_conn_forget(look->sampler->conn);
	adapt_window(look, items, bytes);
	return 1;
}

static void unsee(struct look *look, const struct look_batch *batch, size_t from)
{
	for (size_t i = from; i < batch->count; i++) {
		struct look_key key = look_key_of(batch, &batch->items[i]);
		struct keyset_entry *entry = keyset_find(look->keys, key.hash, key.key.at, key.key.size);

		if (entry)
			entry->seen = entry->present = false;
	}
}

void look_unsee_open(struct look *look, const struct look_batch *pages, size_t count)
{
	for (size_t i = 0; i < count; i++)
		unsee(look, &pages[i], pages[i].answered);
	unsee(look, &look->again, 0);
}

int look_shorten(struct look *look, struct look_batch *batch, struct trouble *t)
{
	while (!look_fits(look, batch)) {
		int got;

		look_send(look, batch);
		got = redis_conn_flush(look->sampler->conn, t);
		if (got > 0)
			got = look_receive(look, batch, t);
		if (got <= 0)
			return got;
	}
	return 1;
}

int look_finish(struct look *look, struct look_batch *batch, struct trouble *t)
{
	while (look_batch_open(batch)) {
		int got;

		if (redis_conn_reopen(look->sampler->conn, t) < 0)
			return -1;
		look_send(look, batch);
		got = redis_conn_flush(look->sampler->conn, t);
		if (got > 0)
			got = look_receive(look, batch, t);
		if (got < 0)
			return -1;
	}
	return 0;
}

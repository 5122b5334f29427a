/* A whole topic in memory, by key: what a fault needs to know in order to say exactly what it broke. */
#include "history.h"

#include <stdlib.h>
#include <string.h>

static struct bytes keep(struct bytes b)
{
	char *copy;

	if (!b.data)
		return b;
	copy = xmalloc(b.len);
	memcpy(copy, b.data, b.len);
	return (struct bytes){ copy, b.len };
}

static void add(struct history *h, const rd_kafka_message_t *m)
{
	if (!(h->count & (h->count - 1)))
		h->records = xrealloc(h->records, (h->count ? h->count * 2 : 1) * sizeof(*h->records));
	h->records[h->count++] = (struct past){
		.partition = m->partition, .offset = m->offset, .key = keep(kafka_key(m)), .value = keep(kafka_value(m))
	};
}

/* Read every partition to its end. */
static void read_all(struct history *h, const struct common *c, const char *isolation)
{
	rd_kafka_t *rk = kafka_reader(c, isolation);
	rd_kafka_topic_partition_list_t *list;
	int32_t ended = 0;

	h->partitions = kafka_partitions_wait(rk, c->topic);
	list = rd_kafka_topic_partition_list_new(h->partitions);
	for (int32_t p = 0; p < h->partitions; p++)
		rd_kafka_topic_partition_list_add(list, c->topic, p)->offset = RD_KAFKA_OFFSET_BEGINNING;
	rd_kafka_assign(rk, list);
	rd_kafka_topic_partition_list_destroy(list);
	while (ended < h->partitions) {
		rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, 30000);

		if (!m)
			die("read %s: no answer", c->topic);
		if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
			ended++;
		else if (m->err)
			die("read %s: %s", c->topic, rd_kafka_message_errstr(m));
		else
			add(h, m);
		rd_kafka_message_destroy(m);
	}
	kafka_close(rk);
}

static int by_place(const struct past *a, const struct past *b)
{
	if (a->partition != b->partition)
		return a->partition < b->partition ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static int by_key(const void *a, const void *b)
{
	const struct past *const *x = a, *const *y = b;
	int order = bytes_compare((*x)->key, (*y)->key);

	return order ? order : by_place(*x, *y);
}

static int past_order(const void *a, const void *b)
{
	return by_place(a, b);
}

static void group(struct history *h)
{
	size_t n = 0;

	h->by_key = xmalloc(h->count * sizeof(*h->by_key));
	h->subjects = xmalloc(h->count * sizeof(*h->subjects));
	for (size_t i = 0; i < h->count; i++)
		if (h->records[i].key.data)
			h->by_key[n++] = &h->records[i];
	qsort(h->by_key, n, sizeof(*h->by_key), by_key);
	for (size_t i = 0; i < n; i++) {
		struct subject *last = h->subjects + h->subjects_count - 1;

		if (h->subjects_count && !bytes_compare(last->key, h->by_key[i]->key))
			last->count++;
		else
			h->subjects[h->subjects_count++] = (struct subject){ h->by_key[i]->key, &h->by_key[i], 1 };
	}
}

void history_read(struct history *h, const struct common *c, bool uncommitted)
{
	struct history committed = { 0 };

	*h = (struct history){ 0 };
	read_all(h, c, uncommitted ? "read_uncommitted" : "read_committed");
	if (uncommitted) {
		read_all(&committed, c, "read_committed");
		if (committed.count)
			qsort(committed.records, committed.count, sizeof(*committed.records), past_order);
		for (size_t i = 0; i < h->count; i++)
			h->records[i].aborted = !committed.count ||
						!bsearch(&h->records[i], committed.records, committed.count,
							 sizeof(*committed.records), past_order);
		history_release(&committed);
	}
	group(h);
}

void history_release(struct history *h)
{
	for (size_t i = 0; i < h->count; i++) {
		free((void *)(uintptr_t)h->records[i].key.data);
		free((void *)(uintptr_t)h->records[i].value.data);
	}
	free(h->records);
	free(h->by_key);
	free(h->subjects);
	*h = (struct history){ 0 };
}

const struct subject *history_subject(const struct history *h, struct bytes key)
{
	for (size_t i = 0; i < h->subjects_count; i++)
		if (!bytes_compare(h->subjects[i].key, key))
			return &h->subjects[i];
	return NULL;
}

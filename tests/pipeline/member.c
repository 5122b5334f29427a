/* The worker's place in its consumer group: joining, epochs at assignment, collecting a batch, committing. */
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keytext.h"

/* How long new partitions may take to be assigned: until then nobody is at the end. */
#define GROWTH_MS 5000

struct owned *member_owned(struct worker *w, int32_t partition)
{
	if (partition >= w->room) {
		w->owned = xrealloc(w->owned, ((size_t)partition + 1) * sizeof(*w->owned));
		for (; w->room <= partition; w->room++)
			w->owned[w->room] = (struct owned){ .next = -1 };
	}
	return &w->owned[partition];
}

/* A new owner raises the partition's epoch: from now on the script fences whoever owned it before. */
static void own(struct worker *w, int32_t partition)
{
	struct owned *o = member_owned(w, partition);
	struct buf key = { 0 };

	*o = (struct owned){ .mine = true, .next = -1 };
	keytext_epoch(&w->opt->common, partition, &key);
	if (key.len)
		o->epoch = redis_number(w->redis, REDIS_ARGS(bytes_of("INCR"), buf_bytes(&key)));
	buf_release(&key);
}

/* Forget the partitions of the list, and every record of theirs that waits in the batch. */
static void disown(struct worker *w, const rd_kafka_topic_partition_list_t *list)
{
	size_t kept = 0;

	for (int i = 0; i < list->cnt; i++)
		*member_owned(w, list->elems[i].partition) = (struct owned){ .next = -1 };
	for (size_t i = 0; i < w->batched; i++) {
		if (member_owned(w, w->batch[i]->partition)->mine)
			w->batch[kept++] = w->batch[i];
		else
			rd_kafka_message_destroy(w->batch[i]);
	}
	w->batched = kept;
}

static void check(rd_kafka_error_t *error, const char *what)
{
	if (!error)
		return;
	warn("%s: %s", what, rd_kafka_error_string(error));
	rd_kafka_error_destroy(error);
}

static void on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *list, void *opaque)
{
	bool stepwise = !strcmp(rd_kafka_rebalance_protocol(rk), "COOPERATIVE");
	struct worker *w = opaque;

	if (err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
		for (int i = 0; i < list->cnt; i++)
			own(w, list->elems[i].partition);
		w->assigned = true;
		if (stepwise)
			check(rd_kafka_incremental_assign(rk, list), "assign");
		else
			rd_kafka_assign(rk, list);
		return;
	}
	disown(w, list);
	w->assigned = false;
	if (stepwise)
		check(rd_kafka_incremental_unassign(rk, list), "unassign");
	else
		rd_kafka_assign(rk, NULL);
}

/*
 * Where the partitions of the list begin: at the group's commit, else as --reset says. Asked here, because librdkafka
 * would wait half a second before it asks.
 */
static void find_start(struct worker *w, rd_kafka_topic_partition_list_t *list)
{
	bool latest = !strcmp(w->opt->reset, "latest");
	rd_kafka_topic_partition_list_t *without = rd_kafka_topic_partition_list_new(list->cnt);
	rd_kafka_resp_err_t err = rd_kafka_committed(w->consumer, list, 30000);

	for (int i = 0; !err && i < list->cnt; i++)
		if (list->elems[i].offset < 0)
			rd_kafka_topic_partition_list_add(without, w->opt->common.topic, list->elems[i].partition)
				->offset = latest ? RD_KAFKA_OFFSET_END : RD_KAFKA_OFFSET_BEGINNING;
	if (!err && without->cnt)
		err = rd_kafka_offsets_for_times(w->consumer, without, 30000);
	if (err)
		die("where to begin: %s", rd_kafka_err2str(err));
	for (int i = 0; i < without->cnt; i++) {
		const rd_kafka_topic_partition_t *found = &without->elems[i];

		rd_kafka_topic_partition_list_find(list, found->topic, found->partition)->offset = found->offset;
	}
	rd_kafka_topic_partition_list_destroy(without);
}

/* The partitions of --assign. */
static void list_chosen(const struct worker *w, rd_kafka_topic_partition_list_t *list)
{
	char *words = xstrdup(w->opt->assign);
	char *rest = words, *word;
	int64_t p;

	while ((word = strsep(&rest, ","))) {
		if (!parse_int64(bytes_of(word), &p) || p < 0 || p >= w->count)
			die_usage("--assign: \"%s\" is no partition of %s", word, w->opt->common.topic);
		rd_kafka_topic_partition_list_add(list, w->opt->common.topic, (int32_t)p);
	}
	free(words);
}

/* Take partitions by hand: those of --assign once, or all from the given number on. */
static void take_from(struct worker *w, int32_t first)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(w->count);

	if (!w->opt->assign && first < w->count)
		rd_kafka_topic_partition_list_add_range(list, w->opt->common.topic, first, w->count - 1);
	else if (w->opt->assign && !first)
		list_chosen(w, list);
	for (int i = 0; i < list->cnt; i++)
		own(w, list->elems[i].partition);
	if (list->cnt) {
		find_start(w, list);
		check(rd_kafka_incremental_assign(w->consumer, list), "assign");
	}
	rd_kafka_topic_partition_list_destroy(list);
	w->assigned = true;
}

static rd_kafka_conf_t *member_conf(struct worker *w)
{
	rd_kafka_conf_t *conf = kafka_conf(&w->opt->common);
	char session[24], heartbeat[24], poll[24];
	int64_t session_ms = w->opt->session_ms;

	snprintf(session, sizeof(session), "%lld", (long long)session_ms);
	snprintf(heartbeat, sizeof(heartbeat), "%lld", (long long)(session_ms / 3 + 1));
	snprintf(poll, sizeof(poll), "%lld", (long long)(session_ms > 300000 ? session_ms : 300000));
	kafka_set(conf, "group.id", w->opt->common.group);
	kafka_set(conf, "session.timeout.ms", session);
	kafka_set(conf, "heartbeat.interval.ms", heartbeat);
	kafka_set(conf, "max.poll.interval.ms", poll);
	kafka_set(conf, "isolation.level", w->opt->isolation);
	kafka_set(conf, "auto.offset.reset", w->opt->reset);
	kafka_set(conf, "enable.auto.commit", "false");
	kafka_set(conf, "enable.auto.offset.store", "false");
	kafka_set(conf, "enable.partition.eof", "true");
	kafka_set(conf, "fetch.wait.max.ms", "10");
	kafka_set(conf, "topic.metadata.refresh.interval.ms", "1000");
	rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
	rd_kafka_conf_set_opaque(conf, w);
	return conf;
}

void member_open(struct worker *w)
{
	rd_kafka_topic_partition_list_t *topics;
	rd_kafka_resp_err_t err;

	w->batch = xmalloc((size_t)w->opt->batch * sizeof(rd_kafka_message_t *));
	w->consumer = kafka_open(RD_KAFKA_CONSUMER, member_conf(w), &w->opt->common);
	rd_kafka_poll_set_consumer(w->consumer);
	w->count = kafka_partitions_wait(w->consumer, w->opt->common.topic);
	if (w->opt->no_join) {
		take_from(w, 0);
		return;
	}
	topics = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(topics, w->opt->common.topic, RD_KAFKA_PARTITION_UA);
	err = rd_kafka_subscribe(w->consumer, topics);
	if (err)
		die("subscribe to %s: %s", w->opt->common.topic, rd_kafka_err2str(err));
	rd_kafka_topic_partition_list_destroy(topics);
}

void member_recount(struct worker *w)
{
	int32_t before = w->count;
	int32_t now = kafka_partitions(w->consumer, w->opt->common.topic);

	if (now <= before)
		return;
	w->count = now;
	w->grown_ms = tick_ms();
	if (w->opt->no_join)
		take_from(w, before);
}

/* A message that is an event and no record: the end of a partition, or trouble. */
static void member_event(struct worker *w, const rd_kafka_message_t *m)
{
	switch ((int)m->err) {
	case RD_KAFKA_RESP_ERR__PARTITION_EOF:
		member_owned(w, m->partition)->at_end = true;
		return;
	case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
	case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
	case RD_KAFKA_RESP_ERR__FATAL:
		die("consume: %s", rd_kafka_message_errstr(m));
	default:
		warn("consume: %s", rd_kafka_message_errstr(m));
	}
}

void member_collect(struct worker *w)
{
	int64_t limit = w->opt->batch, until = tick_ms() + (w->opt->linger_ms > 100 ? w->opt->linger_ms : 100);

	if (w->opt->max_records && w->opt->max_records - w->tally.records < limit)
		limit = w->opt->max_records - w->tally.records;
	while ((int64_t)w->batched < limit) {
		int64_t left = until - tick_ms();
		rd_kafka_message_t *m = left > 0 ? rd_kafka_consumer_poll(w->consumer, (int)left) : NULL;

		if (!m)
			return;
		if (m->err || !member_owned(w, m->partition)->mine || member_owned(w, m->partition)->fenced) {
			if (m->err)
				member_event(w, m);
			rd_kafka_message_destroy(m);
			if (!w->batched && member_at_end(w))
				return;
			continue;
		}
		if (!w->batched)
			until = tick_ms() + w->opt->linger_ms;
		member_owned(w, m->partition)->at_end = false;
		w->batch[w->batched++] = m;
	}
}

void member_release(struct worker *w)
{
	for (size_t i = 0; i < w->batched; i++)
		rd_kafka_message_destroy(w->batch[i]);
	w->batched = 0;
}

/* Refusals that mean "the partition is someone else's now": its records will be read again by its owner. */
static bool is_lost(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION || err == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID ||
	       err == RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS || err == RD_KAFKA_RESP_ERR__ASSIGNMENT_LOST ||
	       err == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID;
}

void member_commit(struct worker *w)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(w->room);
	rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;

	for (int32_t p = 0; p < w->room; p++)
		if (w->owned[p].mine && w->owned[p].next >= 0)
			rd_kafka_topic_partition_list_add(list, w->opt->common.topic, p)->offset = w->owned[p].next;
	for (int tries = 0; list->cnt && tries < 5; tries++) {
		err = rd_kafka_commit(w->consumer, list, 0);
		if (!err || is_lost(err))
			break;
		sleep_ms(200);
	}
	if (err && !is_lost(err))
		die("commit: %s", rd_kafka_err2str(err));
	if (err)
		warn("commit: %s", rd_kafka_err2str(err));
	else if (list->cnt)
		w->tally.commits++;
	for (int32_t p = 0; p < w->room; p++)
		w->owned[p].next = -1;
	rd_kafka_topic_partition_list_destroy(list);
}

bool member_at_end(const struct worker *w)
{
	for (int32_t p = 0; p < w->room; p++)
		if (w->owned[p].mine && !w->owned[p].at_end)
			return false;
	return w->assigned && (!w->grown_ms || tick_ms() - w->grown_ms > GROWTH_MS);
}

void member_close(struct worker *w)
{
	kafka_close(w->consumer);
	free(w->owned);
	free(w->batch);
}

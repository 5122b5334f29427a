/* One batch through the fence: read the states that matter, then rounds of Redis write, produce and flush. */
#include "worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "keytext.h"

/* A key of the batch: its Redis key, and its value as this worker, its only owner, knows it. */
struct state {
	struct buf redis_key, value;
	bool has_value;
	int rounds; /* records of the key in the batch so far */
};

/* A record of the batch and what becomes of it. */
struct task {
	const rd_kafka_message_t *m;
	struct state *state;	/* NULL: nothing to apply */
	struct bytes new_value; /* lies in text or in the message */
	char text[24];
	struct buf kept; /* the stored value that REEMIT gave */
	bool reject, drop;
	int round;
	int64_t epoch;
	enum verdict verdict;
};

struct table {
	struct state *states;
	struct task *tasks;
	size_t *slots; /* 1 + index into states, 0 for free */
	size_t room, count, tasks_count;
	int rounds;
	struct buf epoch_key;
};

static struct state *state_of(struct table *t, struct bytes redis_key)
{
	size_t at = (size_t)XXH3_64bits(redis_key.data, redis_key.len) & (t->room - 1);

	for (; t->slots[at]; at = (at + 1) & (t->room - 1)) {
		struct state *s = &t->states[t->slots[at] - 1];

		if (!bytes_compare(buf_bytes(&s->redis_key), redis_key))
			return s;
	}
	t->slots[at] = ++t->count;
	t->states[t->count - 1] = (struct state){ 0 };
	buf_add(&t->states[t->count - 1].redis_key, redis_key.data, redis_key.len);
	return &t->states[t->count - 1];
}

static bool is_poison(const struct worker *w, const rd_kafka_message_t *m)
{
	int64_t number;

	if (w->opt->poison && m->len >= 6 && !memcmp(m->payload, "poison", 6))
		return true;
	return w->opt->state == STATE_SUM && m->payload && !parse_int64(kafka_value(m), &number);
}

/* Decide what a record is before the fence is asked. */
static void classify(struct worker *w, struct table *t, const rd_kafka_message_t *m)
{
	int32_t n = w->opt->fixed_count ? (int32_t)w->opt->fixed_count : w->count;
	struct task *task = &t->tasks[t->tasks_count++];
	bool poison = is_poison(w, m);
	struct buf key = { 0 };

	*task = (struct task){ .m = m, .epoch = member_owned(w, m->partition)->epoch };
	w->tally.tombstones += !m->payload;
	w->tally.poison += poison;
	if (!m->key) {
		w->tally.null_keys++;
	} else if (w->opt->rejects != REJECTS_NONE && (poison || kafka_home(kafka_key(m), n) != m->partition)) {
		task->reject = true;
	} else if (!m->payload && w->opt->tombstones == TOMBSTONES_IGNORE) {
		w->tally.ignored++;
	} else if (!keytext_state(&w->opt->common, kafka_key(m), &key)) {
		task->reject = true;
	} else {
		task->state = state_of(t, buf_bytes(&key));
		task->drop = !m->payload && w->opt->tombstones == TOMBSTONES_DELETE;
		task->round = w->opt->lossy ? 0 : task->state->rounds++;
		if (task->round >= t->rounds)
			t->rounds = task->round + 1;
	}
	buf_release(&key);
}

/* Counts and sums grow from the stored value; the other kinds need no look. */
static void read_values(struct worker *w, struct table *t)
{
	struct bytes field = bytes_of(w->opt->common.field_value);

	if (w->opt->state != STATE_COUNT && w->opt->state != STATE_SUM)
		return;
	for (size_t i = 0; i < t->count; i++)
		redis_queue(w->redis, REDIS_ARGS(bytes_of("HGET"), buf_bytes(&t->states[i].redis_key), field));
	for (size_t i = 0; i < t->count; i++) {
		redisReply *reply = redis_reply(w->redis);

		if (reply->type == REDIS_REPLY_ERROR)
			die("state %s: %s", t->states[i].redis_key.data, reply->str);
		t->states[i].has_value = reply->type == REDIS_REPLY_STRING;
		buf_clear(&t->states[i].value);
		if (t->states[i].has_value)
			buf_add(&t->states[i].value, reply->str, (size_t)reply->len);
		freeReplyObject(reply);
	}
}

static void new_value(const struct worker *w, struct task *task)
{
	const struct state *s = task->state;
	int64_t number = 0, step = 1;

	if (w->opt->state == STATE_OPAQUE || w->opt->state == STATE_LAST) {
		task->new_value = task->m->payload ? kafka_value(task->m) : bytes_of("");
		return;
	}
	if (s->has_value && !parse_int64(buf_bytes(&s->value), &number))
		die("state %s: \"%s\" is no number", s->redis_key.data, s->value.data);
	if (w->opt->state == STATE_SUM && (!task->m->payload || !parse_int64(kafka_value(task->m), &step)))
		step = 0;
	if (__builtin_add_overflow(number, step, &number))
		die("state %s: the sum overflows", s->redis_key.data);
	snprintf(task->text, sizeof(task->text), "%" PRId64, number);
	task->new_value = bytes_of(task->text);
}

static void call(struct worker *w, struct table *t, struct task *task)
{
	keytext_epoch(&w->opt->common, task->m->partition, &t->epoch_key);
	script_call(task->drop ? &w->drop : &w->fence, w->redis,
		    &(struct call){ .state_key = buf_bytes(&task->state->redis_key),
				    .epoch_key = buf_bytes(&t->epoch_key),
				    .partition = task->m->partition,
				    .offset = task->m->offset,
				    .epoch = task->epoch,
				    .value = task->new_value });
}

/* Learn a verdict: keep the value, and for REEMIT let it be what is emitted. */
static void learn(struct worker *w, struct task *task, const redisReply *reply)
{
	struct state *s = task->state;

	w->tally.verdict[task->verdict]++;
	if (task->verdict == VERDICT_FENCE)
		member_owned(w, task->m->partition)->fenced = true;
	if (task->verdict == VERDICT_REEMIT) {
		struct bytes stored = reply->elements > 1 ? redis_bytes(reply->element[1]) : bytes_of("");

		s->has_value = stored.data != NULL;
		buf_clear(&s->value);
		buf_add(&s->value, stored.data, stored.len);
		buf_clear(&task->kept);
		buf_add(&task->kept, stored.data, stored.len);
		task->new_value = buf_bytes(&task->kept);
	}
	if (task->verdict == VERDICT_APPLY || task->verdict == VERDICT_REBASE) {
		s->has_value = !task->drop;
		buf_clear(&s->value);
		if (!task->drop)
			buf_add(&s->value, task->new_value.data, task->new_value.len);
	}
}

static bool in_round(const struct worker *w, const struct task *task, int round)
{
	return task->state && task->round == round && !w->owned[task->m->partition].fenced;
}

/* Queue the tasks, in order, and take their answers; those that found no script are done again after a reload. */
static void write_tasks(struct worker *w, struct table *t, struct task **tasks, size_t n)
{
	struct task **again = xmalloc(n * sizeof(*again));
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		new_value(w, tasks[i]);
		call(w, t, tasks[i]);
	}
	for (size_t i = 0; i < n; i++) {
		redisReply *reply;

		if (script_answer(w->redis, &tasks[i]->verdict, &reply))
			learn(w, tasks[i], reply);
		else
			again[left++] = tasks[i];
		freeReplyObject(reply);
	}
	if (left) {
		script_reload(&w->fence, w->redis);
		script_reload(&w->drop, w->redis);
		write_tasks(w, t, again, left);
	}
	free(again);
}

static bool is_applied(const struct task *task)
{
	return task->verdict == VERDICT_APPLY || task->verdict == VERDICT_REBASE;
}

static void set_expiry(struct worker *w, struct task **tasks, size_t n)
{
	char ttl[24];
	size_t queued = 0;

	snprintf(ttl, sizeof(ttl), "%" PRId64, w->opt->ttl_ms);
	for (size_t i = 0; w->opt->ttl_ms && i < n; i++) {
		if (!is_applied(tasks[i]))
			continue;
		redis_queue(w->redis,
			    REDIS_ARGS(bytes_of("PEXPIRE"), buf_bytes(&tasks[i]->state->redis_key), bytes_of(ttl)));
		queued++;
	}
	while (queued--)
		freeReplyObject(redis_reply(w->redis));
}

static void emit(struct worker *w, const struct task *task, const char *topic, struct bytes value)
{
	char source[320];

	snprintf(source, sizeof(source), "%s/%" PRId32 "/%" PRId64, w->opt->common.topic, task->m->partition,
		 task->m->offset);
	sink_produce(&w->sink, &(struct outgoing){ .topic = topic,
						   .partition = RD_KAFKA_PARTITION_UA,
						   .key = kafka_key(task->m),
						   .value = value,
						   .source = source });
	w->tally.outputs++;
}

static void produce_rejects(struct worker *w, const struct table *t)
{
	for (size_t i = 0; i < t->tasks_count; i++) {
		if (!t->tasks[i].reject)
			continue;
		w->tally.verdict[VERDICT_DLQ]++;
		if (w->opt->rejects == REJECTS_DLQ)
			emit(w, &t->tasks[i], w->opt->dlq, kafka_value(t->tasks[i].m));
	}
}

static void round_run(struct worker *w, struct table *t, int round)
{
	struct task **tasks = xmalloc((t->tasks_count + 1) * sizeof(*tasks));
	size_t n = 0, half;

	for (size_t i = 0; i < t->tasks_count; i++)
		if (in_round(w, &t->tasks[i], round))
			tasks[n++] = &t->tasks[i];
	half = n / 2;
	write_tasks(w, t, tasks, half);
	crash_pass(&w->crash, CRASH_PARTIAL);
	write_tasks(w, t, tasks + half, n - half);
	set_expiry(w, tasks, n);
	crash_pass(&w->crash, CRASH_REDIS);
	for (size_t i = 0; w->opt->output && i < n; i++)
		if (is_applied(tasks[i]) || tasks[i]->verdict == VERDICT_REEMIT)
			emit(w, tasks[i], w->opt->output,
			     tasks[i]->drop ? (struct bytes){ NULL, 0 } : tasks[i]->new_value);
	if (!round)
		produce_rejects(w, t);
	sink_flush(&w->sink);
	crash_pass(&w->crash, CRASH_PRODUCE);
	w->tally.rounds++;
	free(tasks);
}

/* Offsets to commit: past the batch, except on partitions that another worker owns by now. */
static void move_next(struct worker *w)
{
	for (size_t i = 0; i < w->batched; i++) {
		struct owned *o = member_owned(w, w->batch[i]->partition);

		if (o->mine && !o->fenced)
			o->next = w->batch[i]->offset + 1;
		else
			o->next = -1;
	}
}

static void table_init(struct table *t, size_t records)
{
	*t = (struct table){ .room = 16, .rounds = 1 };
	while (t->room < records * 2)
		t->room *= 2;
	t->slots = xmalloc(t->room * sizeof(*t->slots));
	memset(t->slots, 0, t->room * sizeof(*t->slots));
	t->states = xmalloc(records * sizeof(*t->states));
	t->tasks = xmalloc(records * sizeof(*t->tasks));
}

static void table_release(struct table *t)
{
	for (size_t i = 0; i < t->count; i++) {
		buf_release(&t->states[i].redis_key);
		buf_release(&t->states[i].value);
	}
	for (size_t i = 0; i < t->tasks_count; i++)
		buf_release(&t->tasks[i].kept);
	buf_release(&t->epoch_key);
	free(t->slots);
	free(t->states);
	free(t->tasks);
}

void apply_batch(struct worker *w)
{
	struct table t;

	table_init(&t, w->batched);
	for (size_t i = 0; i < w->batched; i++)
		classify(w, &t, w->batch[i]);
	read_values(w, &t);
	for (int round = 0; round < t.rounds; round++)
		round_run(w, &t, round);
	move_next(w);
	w->tally.records += (int64_t)w->batched;
	w->tally.batches++;
	table_release(&t);
}

void apply_nothing(struct worker *w)
{
	move_next(w);
}

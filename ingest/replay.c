/* replay: looks, resumes, replays, looks again at the holes. */
#include "ingest/replay.h"

#include <stdlib.h>
#include <string.h>

#include "ingest/gapwindow.h"
#include "ingest/history.h"
#include "ingest/resume.h"
#include "sql/mem.h"
#include "sql/writer.h"

enum { ATTEMPTS = 3 }; /* at a history that is rewritten while it is read */

void topic_history_release(struct topic_history *history)
{
	free(history->topic);
	free(history->parts);
	topic_description_release(&history->description);
	*history = (struct topic_history){ 0 };
}

/* --- looking ----------------------------------------------------------------------------------------------------- */

/* Makes room for the partitions that the broker has now; new ones are unknown. */
static void grow(struct topic_history *topic, int32_t partitions)
{
	if (partitions <= topic->partitions)
		return;
	topic->parts = xgrow(topic->parts, (size_t)partitions, sizeof(*topic->parts));
	for (; topic->partitions < partitions; topic->partitions++)
		topic->parts[topic->partitions] = (struct topic_part){
			.partition = topic->partitions,
			.first = UNKNOWN,
			.next = UNKNOWN,
			.gap = UNKNOWN,
			.log_start = UNKNOWN,
			.log_start_us = UNKNOWN,
			.last_stable = UNKNOWN,
			.last_stable_us = UNKNOWN,
			.high_watermark = UNKNOWN,
			.high_watermark_us = UNKNOWN,
			.end = UNKNOWN,
			.end_us = UNKNOWN,
		};
}

/* Trouble of an earlier look makes room for the next one. */
static void forget(const struct run *run, const char *topic, struct trouble *trouble)
{
	if (trouble->text[0])
		run_note(run, "topic %s: looking again after: %s", topic, trouble->text);
	trouble->text[0] = '\0';
}

static void describe(const struct run *run, struct source *source, struct topic_history *topic)
{
	struct topic_description description;

	forget(run, topic->topic, &topic->trouble);
	if (source->ops->describe(source, topic->topic, &description, &topic->trouble) < 0) {
		trouble_wrap(&topic->trouble, "topic %s", topic->topic);
		return;
	}
	topic_description_release(&topic->description);
	topic->description = description;
	if (description.partitions <= 0)
		trouble_set(&topic->trouble, "topic %s does not exist", topic->topic);
	else
		grow(topic, description.partitions);
}

/* Where the answers of one kind go. */
static void keep(struct topic_part *part, enum offset_kind kind, const struct offset_query *query)
{
	switch (kind) {
	case OFFSET_LOG_START:
		part->log_start = query->offset;
		part->log_start_us = query->at_us;
		break;
	case OFFSET_LAST_STABLE:
		part->last_stable = query->offset;
		part->last_stable_us = query->at_us;
		break;
	default: part->high_watermark = query->offset; part->high_watermark_us = query->at_us;
	}
	if (query->trouble.text[0] && !part->trouble.text[0])
		part->trouble = query->trouble;
}

static size_t count_parts(const struct topic_history *topics, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += (size_t)topics[i].partitions;
	return n;
}

/* One kind of offset of all partitions of all topics. */
static void look(struct source *source, struct topic_history *topics, size_t count, enum offset_kind kind)
{
	size_t n = count_parts(topics, count), at = 0;
	struct offset_query *queries = xarray(n, sizeof(*queries));
	struct trouble trouble = { 0 };
	int result;

	for (size_t i = 0; i < count; i++)
		for (int32_t j = 0; j < topics[i].partitions; j++)
			queries[at++] = (struct offset_query){
				.topic = topics[i].topic,
				.partition = j,
				.offset = UNKNOWN,
				.at_us = UNKNOWN,
			};
	result = source->ops->offsets(source, kind, queries, n, &trouble);
	at = 0;
	for (size_t i = 0; i < count; i++)
		for (int32_t j = 0; j < topics[i].partitions; j++, at++) {
			if (result < 0)
				queries[at].trouble = trouble;
			keep(&topics[i].parts[j], kind, &queries[at]);
		}
	free(queries);
}

static void choose_ends(struct topic_history *topic)
{
	for (int32_t i = 0; i < topic->partitions; i++) {
		struct topic_part *part = &topic->parts[i];
		bool stable = topic->isolation == ISOLATION_READ_COMMITTED;

		part->end = stable ? part->last_stable : part->high_watermark;
		part->end_us = stable ? part->last_stable_us : part->high_watermark_us;
		part->covered = false;
	}
}

/* The last stable offset before the high watermark: whatever moves between, it never seems to lie above. */
static void look_all(const struct run *run, struct source *source, struct topic_history *topics, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (int32_t j = 0; j < topics[i].partitions; j++)
			forget(run, topics[i].topic, &topics[i].parts[j].trouble);
	look(source, topics, count, OFFSET_LOG_START);
	look(source, topics, count, OFFSET_LAST_STABLE);
	look(source, topics, count, OFFSET_HIGH_WATERMARK);
	for (size_t i = 0; i < count; i++)
		choose_ends(&topics[i]);
}

int replay_open(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topics, size_t count,
		struct trouble *t)
{
	for (size_t i = 0; i < count && !run_stopped(run); i++)
		describe(run, source, &topics[i]);
	look_all(run, source, topics, count);
	return resume_topics(run, source, db, topics, count, t);
}

/* Could everything that the broker told be compared with the index? */
static bool is_open(const struct topic_history *topic)
{
	for (int32_t i = 0; i < topic->partitions; i++)
		if (!topic->parts[i].verified && topic->parts[i].next != UNKNOWN)
			return false;
	return topic->incarnation_id != 0;
}

int replay_extend(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topics, size_t count,
		  struct trouble *t)
{
	for (size_t i = 0; i < count && !run_stopped(run); i++)
		describe(run, source, &topics[i]);
	look_all(run, source, topics, count);
	for (size_t i = 0; i < count && !run_stopped(run); i++) {
		int result = is_open(&topics[i]) ? resume_parts(run, db, &topics[i], t)
						 : resume_topics(run, source, db, &topics[i], 1, t);

		if (result < 0)
			return -1;
	}
	return 0;
}

/* --- replaying --------------------------------------------------------------------------------------------------- */

/* The parts to read, and where they came from. */
struct work {
	struct replay_part *parts;
	struct topic_part **origin;
	size_t count;
};

static bool wants_replay(const struct topic_history *topic, const struct topic_part *part)
{
	return topic->incarnation_id && part->verified && part->next != UNKNOWN && part->end != UNKNOWN &&
	       part->next < part->end && !part->trouble.text[0];
}

static struct work gather(struct topic_history *topics, size_t count)
{
	size_t room = count_parts(topics, count);
	struct work work = { .parts = xarray(room, sizeof(*work.parts)),
			     .origin = xarray(room, sizeof(struct topic_part *)) };

	for (size_t i = 0; i < count; i++)
		for (int32_t j = 0; j < topics[i].partitions; j++) {
			struct topic_part *part = &topics[i].parts[j];

			if (!wants_replay(&topics[i], part))
				continue;
			work.origin[work.count] = part;
			work.parts[work.count++] = (struct replay_part){
				.incarnation_id = topics[i].incarnation_id,
				.topic = topics[i].topic,
				.partition = part->partition,
				.isolation = topics[i].isolation,
				.numbers = topics[i].numbers,
				.header = topics[i].dlq_header,
				.next = part->next,
				.end = part->end,
			};
		}
	return work;
}

static void work_release(struct work *work)
{
	free(work->parts);
	free(work->origin);
}

/*
 * What became of the parts, back to the topics. A failed writer has lost what was read: the index knows better (and
 * t says why).
 */
static void scatter(const struct work *work, const struct history *history)
{
	for (size_t i = 0; i < work->count; i++) {
		const struct replay_part *from = &work->parts[i];
		struct topic_part *to = work->origin[i];

		to->next = from->next;
		to->beyond = from->beyond;
		to->trouble = from->trouble;
		to->records += history_records(history, i);
		if (from->beyond && !to->trouble.text[0])
			trouble_set(
				&to->trouble,
				"%s/%d: the broker's end fell below %lld while it was read: its history was rewritten",
				from->topic, from->partition, (long long)from->end);
	}
}

static int replay_records(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topics,
			  size_t count, struct trouble *t)
{
	struct work work = gather(topics, count);
	struct trouble trouble = { 0 };
	struct history *history;
	struct writer *writer;
	int read = 0, result = 0;

	if (work.count > 0) {
		writer = writer_start(run, db);
		history = history_new(run, writer, work.parts, work.count);
		read = source->ops->replay(source, work.parts, work.count, history, &trouble);
		for (size_t i = 0; read < 0 && i < work.count; i++)
			work.parts[i].trouble = trouble;
		result = writer_stop(writer, t);
		scatter(&work, history);
		history_free(history);
	}
	work_release(&work);
	return result;
}

/* What is not covered says why. */
static void judge(struct topic_history *topic)
{
	for (int32_t i = 0; i < topic->partitions; i++) {
		struct topic_part *part = &topic->parts[i];
		bool read = part->end != UNKNOWN && part->next != UNKNOWN && part->next >= part->end;

		part->covered = topic->incarnation_id && read && part->gap >= part->next && !part->trouble.text[0];
		if (part->covered || part->trouble.text[0])
			continue;
		if (read)
			trouble_set(&part->trouble, "%s/%d: stopped before the holes above %lld were looked at",
				    topic->topic, part->partition, (long long)part->gap);
		else
			trouble_set(&part->trouble, "%s/%d: stopped before it was read", topic->topic, part->partition);
	}
}

/* The broker's end fell while it was read: looks anew which history it is. 1: read on; 0: nothing fell; -1. */
static int reopen(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topics, size_t count,
		  struct trouble *t)
{
	bool beyond = false;

	for (size_t i = 0; i < count; i++)
		for (int32_t j = 0; j < topics[i].partitions; j++) {
			beyond = beyond || topics[i].parts[j].beyond;
			topics[i].parts[j].beyond = false;
		}
	if (!beyond || run_stopped(run))
		return 0;
	look_all(run, source, topics, count);
	return resume_topics(run, source, db, topics, count, t) < 0 ? -1 : 1;
}

int replay_run(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topics, size_t count,
	       struct trouble *t)
{
	int again = 1;

	for (int attempt = 0; again > 0 && attempt < ATTEMPTS; attempt++) {
		if (replay_records(run, source, db, topics, count, t) < 0)
			return -1;
		again = reopen(run, source, db, topics, count, t);
	}
	if (again < 0 || gapwindow_run(run, source, db, topics, count, &GAP_LIMITS, t) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		judge(&topics[i]);
	return 0;
}

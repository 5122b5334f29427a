/* rebase_story: the topic's facts as the fold had them, then key by key out of the index. */
#include "analyzer/rebase_story.h"

#include <stdlib.h>

#include "analyzer/event.h"
#include "analyzer/rejected.h"
#include "analyzer/resize.h"
#include "analyzer/topic.h"
#include "sql/db.h"
#include "sql/mem.h"
#include "sql_data.h"

struct teller {
	const struct run *run;
	sqlite3 *db;
	const struct fold_topic *topic;
	const struct rejected *rejected;
	int64_t left;
	void (*show)(void *context, const struct rebase_story *story);
	void *context;
};

/* What the fold took the record for; see fold_stream.c. */
static enum event_kind kind_of(const struct teller *teller, const struct fold_partition *part, int32_t ordinal,
			       struct event event, bool tombstone)
{
	struct rejected_span span = rejected_in(teller->rejected, event.partition);

	if (ordinal < 0 || (ordinal > 0 && event.offset >= part->stale_from[ordinal]) ||
	    rejected_next(&span, event.offset))
		return EVENT_REFUSED;
	if (tombstone && teller->topic->ignore_tombstones)
		return EVENT_IGNORED;
	return tombstone && teller->topic->delete_tombstones ? EVENT_DELETE : EVENT_APPLIED;
}

static int32_t ordinal_in(const struct fold_topic *topic, const void *key, size_t size, int32_t partition)
{
	uint32_t dividend;

	if (!placer_dividend(&topic->placer, key, size, &dividend))
		return -1;
	return fold_topic_ordinal(topic, dividend, partition);
}

/* The records of the key in one partition. place: a row of rebase_places. */
static int add_place(const struct teller *teller, sqlite3_stmt *key, sqlite3_stmt *place, struct events *events,
		     struct trouble *t)
{
	const void *bytes = sqlite3_column_blob(key, 1);
	int size = sqlite3_column_bytes(key, 1);
	int32_t partition = sqlite3_column_int(place, 0);
	int32_t ordinal = ordinal_in(teller->topic, bytes ? bytes : "", (size_t)size, partition);
	const struct fold_partition *part = fold_topic_part(teller->topic, partition);
	sqlite3_stmt *rows;
	int more;

	if (!part)
		return 0;
	rows = db_query(teller->db, sql_queries_rebase_records, teller->topic->incarnation_id, t);
	db_bind_int(rows, 2, partition);
	db_bind_int(rows, 3, sqlite3_column_int64(place, 1));
	db_bind_int(rows, 4, sqlite3_column_int64(place, 2) + 1);
	db_bind_blob(rows, 5, bytes ? bytes : "", (size_t)size);
	db_bind_text(rows, 6, keypart_word(teller->topic->key_part));
	while ((more = db_step(rows, t)) > 0) {
		struct event event = { .partition = partition, .offset = sqlite3_column_int64(rows, 0),
				       .ms = sqlite3_column_int64(rows, 1) };

		event.kind = kind_of(teller, part, ordinal, event, sqlite3_column_int(rows, 2));
		events_add(events, &event);
	}
	sqlite3_finalize(rows);
	return more;
}

static int add_places(const struct teller *teller, sqlite3_stmt *key, struct events *events, struct trouble *t)
{
	const void *bytes = sqlite3_column_blob(key, 1);
	sqlite3_stmt *rows = db_query(teller->db, sql_queries_rebase_places, teller->topic->topic_id, t);
	int more;

	db_bind_int(rows, 2, sqlite3_column_int64(key, 0));
	db_bind_blob(rows, 3, bytes ? bytes : "", (size_t)sqlite3_column_bytes(key, 1));
	while ((more = db_step(rows, t)) > 0)
		if (add_place(teller, key, rows, events, t) < 0) {
			more = -1;
			break;
		}
	sqlite3_finalize(rows);
	return more;
}

static const char *word_of(struct event_fence *fence, const struct event *event)
{
	return event->kind == EVENT_IGNORED ? "ignored" : verdict_name(event_next(fence, event));
}

static void show(const struct teller *teller, sqlite3_stmt *key, struct events *events)
{
	struct story_record *records = xarray(events->count, sizeof(*records));
	const void *bytes = sqlite3_column_blob(key, 1);
	struct event_fence fence = { 0 };
	struct rebase_story story = { .pipeline = teller->topic->pipeline,
				      .topic = teller->topic->name,
				      .key = bytes ? bytes : "",
				      .key_size = (size_t)sqlite3_column_bytes(key, 1),
				      .fence_partition = db_int(key, 2),
				      .fence_offset = db_int(key, 3),
				      .records = records,
				      .count = events->count };

	events_order(events);
	for (size_t i = 0; i < events->count; i++)
		records[i] = (struct story_record){ events->at[i].partition, events->at[i].offset, events->at[i].ms,
						    word_of(&fence, &events->at[i]) };
	story.home = placer_partition(&teller->topic->placer, story.key, story.key_size, teller->topic->count[0]);
	teller->show(teller->context, &story);
	free(records);
}

static int tell_key(struct teller *teller, sqlite3_stmt *key, struct trouble *t)
{
	struct events events = { 0 };
	int result = add_places(teller, key, &events, t);

	if (result == 0)
		show(teller, key, &events);
	events_release(&events);
	return result;
}

static int tell_keys(struct teller *teller, int64_t *keys, struct trouble *t)
{
	sqlite3_stmt *rows = db_query(teller->db, sql_queries_rebase_keys, teller->topic->topic_id, t);
	int more;

	db_bind_int(rows, 2, teller->left);
	for (bool first = true; (more = db_step(rows, t)) > 0; first = false) {
		*keys += first ? sqlite3_column_int64(rows, 4) : 0;
		if (run_stopped(teller->run))
			more = trouble_set(t, "stopped");
		else if (teller->left > 0 && tell_key(teller, rows, t) < 0)
			more = -1;
		if (more < 0)
			break;
		teller->left--;
	}
	sqlite3_finalize(rows);
	return more;
}

static int tell_topic(struct teller *teller, struct fold_topic *topic, int64_t *keys, struct trouble *t)
{
	struct rejected rejected = { 0 };
	struct rejected_from from = { topic->pipeline_id, topic->name };
	int result = topic->count[0] > 0 ? resize_find(teller->run, teller->db, topic, t) : 0;

	teller->topic = topic;
	teller->rejected = &rejected;
	if (result == 0 && topic->rejects_dlq)
		result = rejected_load(teller->run, teller->db, &from, &rejected, t);
	if (result == 0 && topic->count[0] > 0)
		result = tell_keys(teller, keys, t);
	rejected_release(&rejected);
	return result < 0 ? trouble_wrap(t, "rebases of %s", topic->name) : 0;
}

int rebase_stories(const struct run *run, sqlite3 *db, int64_t most,
		   void (*show_story)(void *context, const struct rebase_story *story), void *context, int64_t *keys,
		   struct trouble *t)
{
	struct teller teller = { .run = run, .db = db, .left = most, .show = show_story, .context = context };
	struct fold_topics topics;
	int result = fold_topics_load(run, db, &topics, t);

	*keys = 0;
	for (size_t i = 0; result == 0 && i < topics.n; i++)
		if (topics.items[i].source)
			result = tell_topic(&teller, &topics.items[i], keys, t);
	fold_topics_release(&topics);
	return result;
}

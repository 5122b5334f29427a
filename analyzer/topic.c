/* topic: the facts of one topic, read once before its fold. */
#include "analyzer/topic.h"

#include <stdlib.h>
#include <string.h>

#include "sql/db.h"
#include "sql/mem.h"
#include "sql_data.h"

/* The columns of fold_topics.sql. */
enum {
	TOPIC_ID,
	PIPELINE_ID,
	INCARNATION_ID,
	NAME,
	PIPELINE,
	FENCED,
	STATE,
	TOMBSTONES,
	REJECTS_DLQ,
	SUSPECT_HOLES,
	THRESHOLD,
	RECENT_THRESHOLD,
	RECENT_FROM_MS,
	PARTITIONS,
	PARTITIONER,
	SOURCE,
	HOT_SHARE,
	KEY_PART,
};

static bool is(sqlite3_stmt *row, int column, const char *word)
{
	return strcmp((const char *)sqlite3_column_text(row, column), word) == 0;
}

/* The placer of the pipeline, and what is its key; an index of a later program may name one that this program has not. */
static int read_placer(sqlite3_stmt *row, struct fold_topic *topic, struct trouble *t)
{
	const char *text = (const char *)sqlite3_column_text(row, PARTITIONER);
	const char *part = (const char *)sqlite3_column_text(row, KEY_PART);

	if (!keypart_by_word(part, strlen(part), &topic->key_part))
		return trouble_set(t, "fold %s: no such part of a key: %.100s", topic->name, part);
	if (placer_parse(text, &topic->placer))
		return 0;
	return trouble_set(t, "fold %s: no such partitioner: %.100s; there are " PLACER_WORDS, topic->name, text);
}

static void read_topic(const struct run *run, sqlite3_stmt *row, struct fold_topic *topic)
{
	*topic = (struct fold_topic){
		.run_id = run->id,
		.topic_id = sqlite3_column_int64(row, TOPIC_ID),
		.pipeline_id = sqlite3_column_int64(row, PIPELINE_ID),
		.incarnation_id = db_int(row, INCARNATION_ID),
		.name = db_text_dup(row, NAME),
		.pipeline = db_text_dup(row, PIPELINE),
		.source = sqlite3_column_int(row, SOURCE),
		.hot_share = db_int(row, HOT_SHARE),
		.fenced = sqlite3_column_int(row, FENCED),
		.counts = is(row, STATE, "count"),
		.sums = is(row, STATE, "sum"),
		.lasts = is(row, STATE, "last"),
		.delete_tombstones = is(row, TOMBSTONES, "delete"),
		.ignore_tombstones = is(row, TOMBSTONES, "ignore"),
		.rejects_dlq = sqlite3_column_int(row, REJECTS_DLQ),
		.suspect_holes = sqlite3_column_int(row, SUSPECT_HOLES),
		.threshold = db_int(row, THRESHOLD),
		.recent_threshold = db_int(row, RECENT_THRESHOLD),
		.recent_from_ms = db_int(row, RECENT_FROM_MS),
		.count = xarray(1, sizeof(*topic->count)),
		.count_n = 1,
	};
	topic->count[0] =
		sqlite3_column_type(row, PARTITIONS) == SQLITE_NULL ? -1 : sqlite3_column_int(row, PARTITIONS);
	if (topic->threshold == UNKNOWN)
		topic->threshold = topic->fenced ? 0 : INT64_MAX;
	if (topic->recent_threshold == UNKNOWN)
		topic->recent_threshold = 0;
	if (topic->recent_from_ms == UNKNOWN)
		topic->recent_from_ms = INT64_MAX;
}

static void read_count(sqlite3_stmt *row, struct fold_topic *topic)
{
	topic->count = xgrow(topic->count, topic->count_n + 1, sizeof(*topic->count));
	topic->count[topic->count_n++] = sqlite3_column_int(row, 0);
}

static void read_part(sqlite3_stmt *row, struct fold_topic *topic)
{
	struct fold_partition *part;

	topic->parts = xgrow(topic->parts, topic->part_n + 1, sizeof(*topic->parts));
	part = &topic->parts[topic->part_n++];
	*part = (struct fold_partition){
		.partition = sqlite3_column_int(row, 0),
		.horizon = { sqlite3_column_int64(row, 1), sqlite3_column_int64(row, 2) },
		.covered = sqlite3_column_int(row, 3),
		.indexed_end = db_int(row, 4),
		.first_offset = db_int(row, 5),
		.from = sqlite3_column_int64(row, 6),
		.from_sure = sqlite3_column_int(row, 7),
		.committed = db_int(row, 8),
		.log_start = db_int(row, 9),
		.aborted = sqlite3_column_int64(row, 10),
		.gap_end = sqlite3_column_int64(row, 11),
		.certain = xarray(topic->count_n, sizeof(*part->certain)),
		.stale_from = xarray(topic->count_n, sizeof(*part->stale_from)),
	};
	for (size_t i = 0; i < topic->count_n; i++)
		part->stale_from[i] = INT64_MAX;
	part->has_horizon = sqlite3_column_type(row, 1) != SQLITE_NULL && sqlite3_column_type(row, 2) != SQLITE_NULL;
	if (!part->has_horizon)
		part->horizon = (struct horizon){ 0, 0 };
	part->certain[0] = INT64_MAX;
}

static void read_certain(sqlite3_stmt *row, struct fold_topic *topic)
{
	struct fold_partition *part = fold_topic_part(topic, sqlite3_column_int(row, 0));

	for (size_t i = 1; part && i < topic->count_n; i++)
		if (topic->count[i] == sqlite3_column_int(row, 1))
			part->certain[i] = sqlite3_column_int64(row, 2);
}

static int read_all(sqlite3 *db, const char *sql, struct fold_topic *topic,
		    void (*read)(sqlite3_stmt *, struct fold_topic *), struct trouble *t)
{
	sqlite3_stmt *rows = db_query(db, sql, topic->topic_id, t);
	int more;

	while ((more = db_step(rows, t)) > 0)
		read(rows, topic);
	sqlite3_finalize(rows);
	return more;
}

static int read_rest(sqlite3 *db, struct fold_topic *topic, struct trouble *t)
{
	if (read_all(db, sql_queries_fold_counts, topic, read_count, t) < 0 ||
	    read_all(db, sql_queries_fold_partitions, topic, read_part, t) < 0 ||
	    read_all(db, sql_queries_fold_certain, topic, read_certain, t) < 0)
		return trouble_wrap(t, "fold %s", topic->name);
	return 0;
}

int fold_topics_load(const struct run *run, sqlite3 *db, struct fold_topics *topics, struct trouble *t)
{
	sqlite3_stmt *rows = db_query(db, sql_queries_fold_topics, run->id, t);
	int more;

	*topics = (struct fold_topics){ 0 };
	while ((more = db_step(rows, t)) > 0) {
		topics->items = xgrow(topics->items, topics->n + 1, sizeof(*topics->items));
		read_topic(run, rows, &topics->items[topics->n]);
		if (read_placer(rows, &topics->items[topics->n++], t) < 0)
			more = -1;
		if (more < 0)
			break;
	}
	sqlite3_finalize(rows);
	for (size_t i = 0; more == 0 && i < topics->n; i++)
		more = read_rest(db, &topics->items[i], t);
	return more;
}

static void topic_release(struct fold_topic *topic)
{
	for (size_t i = 0; i < topic->part_n; i++) {
		free(topic->parts[i].certain);
		free(topic->parts[i].stale_from);
	}
	free(topic->parts);
	free(topic->resizes);
	free(topic->count);
	free(topic->name);
	free(topic->pipeline);
}

void fold_topics_release(struct fold_topics *topics)
{
	for (size_t i = 0; i < topics->n; i++)
		topic_release(&topics->items[i]);
	free(topics->items);
	*topics = (struct fold_topics){ 0 };
}

struct fold_partition *fold_topic_part(const struct fold_topic *topic, int32_t partition)
{
	size_t low = 0, high = topic->part_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (topic->parts[middle].partition < partition)
			low = middle + 1;
		else
			high = middle;
	}
	return low < topic->part_n && topic->parts[low].partition == partition ? &topic->parts[low] : NULL;
}

/* cause_write: causes as rows, with the remedy and the id that the finding will have. */
#include "analyzer/cause_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/bulk.h"
#include "analyzer/findingid.h"
#include "analyzer/remedy.h"
#include "analyzer/script.h"
#include "sql/db.h"
#include "sql/mem.h"
#include "sql/run.h"
#include "sql_data.h"

#define X(name, word) [CAUSE_##name] = word,
static const char *const kind_words[] = { CAUSE_KINDS(X) };
#undef X

enum { HINT_LEAST = 3 }; /* fewer keys fit some count by luck */

static const char AGAIN[] = "The records off home went to the DLQ and must be produced again.";

/* The kind and by what it was placed: what makes the finding the same one in the next run. The caller frees. */
static char *identity_of(const struct cause *cause)
{
	char text[PLACER_TEXT];

	if (!cause->placement_n)
		return xstrdup(kind_words[cause->kind]);
	placer_text(&cause->placements[0].placer, text);
	return xprintf("%s %s %d", kind_words[cause->kind], text, (int)cause->placements[0].partitions);
}

/* As analyzer/check.c makes it of the columns of the finding: pipeline, topic and identity are the ones it has. */
static void finding_id(const struct cause_topic *topic, const char *identity, char id[FINDINGID_ROOM])
{
	const char *const parts[] = { "copartition-cause",
				      topic->pipeline,
				      topic->name,
				      NULL,
				      NULL,
				      NULL,
				      identity,
				      NULL,
				      NULL,
				      NULL,
				      NULL,
				      NULL };
	struct findingid hash;

	findingid_begin(&hash);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		findingid_add(&hash, parts[i], parts[i] ? strlen(parts[i]) : 0);
	findingid_end(&hash, id);
}

/* --- remedies ---------------------------------------------------------------------------------------------------- */

static char *remedy_of_partitioner(const struct cause_topic *topic, const struct cause *cause)
{
	const struct attribute_placement *at = &cause->placements[0];
	const struct partitioner *own = topic->own.partitioner;
	const char *settings =
		own == &partitioners[PARTITIONER_murmur2] ? remedy_to_murmur2(at->placer.partitioner) : NULL;
	char text[PLACER_TEXT];

	placer_text(&topic->own, text);
	if (at->partitions != topic->partitions)
		return xprintf(
			"Find the producer that takes the topic for one of %d partitions and places keys by another "
			"partitioner. Let it place them by %s over the %d partitions that there are%s%s. %s",
			(int)at->partitions, text, (int)topic->partitions, settings ? ": " : "",
			settings ? settings : "", AGAIN);
	if (settings)
		return xprintf("Find that producer, and let it place keys by %s. %s. %s", text, settings, AGAIN);
	return xprintf("Find that producer, and let it place keys by %s, as these do: %s. %s", text, own->users, AGAIN);
}

static char *remedy_of_count(const struct cause_topic *topic, const struct cause *cause)
{
	return xprintf(
		"If the topic once had %d partitions, name that count in partitions.before. Else find the producer "
		"that takes the topic for one of %d partitions: one with metadata of another cluster or of an earlier "
		"time, or with the count in its own config, and give it the count that there is, %d. %s",
		(int)cause->placements[0].partitions, (int)cause->placements[0].partitions, (int)topic->partitions,
		AGAIN);
}

/* Whether all rows of the cause are where the topic's own placer would put them over so many partitions. */
static bool all_under(const struct cause_topic *topic, const struct cause *cause, int32_t count)
{
	for (size_t i = 0; i < topic->row_n; i++) {
		const struct cause_row *row = &topic->rows[i];

		if (row->cause == cause - topic->causes &&
		    placer_partition(&topic->own, row->key.bytes, row->key.len, count) != row->partition)
			return false;
	}
	return true;
}

/* Of too few keys for an answer. An earlier count may put all of them where they are. */
static char *remedy_of_few(const struct cause_topic *topic, const struct cause *cause)
{
	for (int32_t count = topic->partitions - 1; count > 0 && cause->keys >= HINT_LEAST; count--)
		if (all_under(topic, cause, count))
			return xprintf(
				"All of them are where %d partitions would have them: if the topic once had so many, name "
				"that count in partitions.before. Else look for their producers, and audit again when there "
				"are more distinct keys. %s",
				(int)count, AGAIN);
	return xprintf(
		"Look for the producers of the sample keys. An answer needs more distinct keys: audit again when there "
		"are. %s",
		AGAIN);
}

/* The caller frees. */
static char *remedy_of(const struct cause_topic *topic, const struct cause *cause)
{
	bool one = cause->classes == 1;

	switch (cause->kind) {
	case CAUSE_PARTITIONER:
		if (one)
			return remedy_of_partitioner(topic, cause);
		break;
	case CAUSE_PARTITION_COUNT:
		if (one)
			return remedy_of_count(topic, cause);
		break;
	case CAUSE_STALE_METADATA:
		return xprintf(
			"Restart the producers that still go by the earlier partition count, and let them look for "
			"new partitions more often: metadata.max.age.ms in the Java producer, "
			"topic.metadata.refresh.interval.ms in librdkafka. %s",
			AGAIN);
	case CAUSE_EMPTY_KEY:
		return xprintf(
			"Find the producer of empty keys. consistent_random, the default of librdkafka, and Redpanda's "
			"HTTP Proxy place them by chance: give them a key, or no key at all, or place them by "
			"murmur2_random. %s",
			AGAIN);
	case CAUSE_NOT_THE_KEY:
		return xprintf(
			"Find the producer that names partitions itself, or places records by turns, by chance or by "
			"another field than the key, and let it place them by the key. %s",
			AGAIN);
	case CAUSE_UNKNOWN:
	case CAUSE_KIND_COUNT: break;
	}
	if (strcmp(cause->confidence, "unknown") == 0)
		return xprintf(
			"Look for the producer of the sample keys: it names partitions itself, places records by "
			"chance "
			"or by another field than the key, or has a partitioner of its own. Let it place them by the "
			"key. %s",
			AGAIN);
	return remedy_of_few(topic, cause);
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

static void bind_real(sqlite3_stmt *stmt, int column, double value)
{
	if (isnan(value))
		sqlite3_bind_null(stmt, column);
	else
		sqlite3_bind_double(stmt, column, value);
}

static void bind_ends(sqlite3_stmt *stmt, const struct cause *cause)
{
	const struct cause_place *first = &cause->places[cause->first_partition],
				 *last = &cause->places[cause->last_partition];

	db_bind_int(stmt, 22, cause->first_partition);
	db_bind_int(stmt, 23, first->first_offset);
	db_bind_int(stmt, 24, first->first_ms);
	db_bind_int(stmt, 25, cause->last_partition);
	db_bind_int(stmt, 26, last->last_offset);
	db_bind_int(stmt, 27, last->last_ms);
}

static int write_cause(sqlite3_stmt *stmt, const struct cause_topic *topic, size_t index, struct trouble *t)
{
	const struct cause *cause = &topic->causes[index];
	char *identity = identity_of(cause), *remedy = remedy_of(topic, cause), id[FINDINGID_ROOM];
	int result;

	finding_id(topic, identity, id);
	db_bind_int(stmt, 1, topic->topic_id);
	db_bind_int(stmt, 2, (int64_t)index);
	db_bind_text(stmt, 3, kind_words[cause->kind]);
	db_bind_text(stmt, 4, cause->confidence);
	db_bind_text(stmt, 5, identity);
	db_bind_text(stmt, 6, id);
	db_bind_int(stmt, 7, (int64_t)cause->classes);
	db_bind_int(stmt, 8, (int64_t)(cause->placement_n + cause->more));
	db_bind_text(stmt, 9, cause->sign);
	db_bind_text(stmt, 10, remedy);
	db_bind_int(stmt, 11, (int64_t)cause->hypotheses);
	db_bind_int(stmt, 12, (int64_t)cause->tested);
	db_bind_int(stmt, 13, (int64_t)topic->needed);
	db_bind_int(stmt, 14, cause->exact);
	db_bind_int(stmt, 15, cause->keys);
	db_bind_int(stmt, 16, cause->records);
	bind_real(stmt, 17, cause->share);
	bind_real(stmt, 18, cause->placement_n ? cause->differs : NAN);
	db_bind_text(stmt, 19, cause->pattern);
	bind_real(stmt, 20, cause->density);
	db_bind_int(stmt, 21, cause->over);
	bind_ends(stmt, cause);
	result = db_run(stmt, t);
	free(identity);
	free(remedy);
	return result;
}

static int write_members(sqlite3_stmt *stmt, const struct cause_topic *topic, size_t index, struct trouble *t)
{
	const struct cause *cause = &topic->causes[index];

	for (size_t i = 0; i < cause->placement_n; i++) {
		const struct attribute_placement *at = &cause->placements[i];

		db_bind_int(stmt, 1, topic->topic_id);
		db_bind_int(stmt, 2, (int64_t)index);
		db_bind_int(stmt, 3, (int64_t)i);
		db_bind_int(stmt, 4, at->class);
		db_bind_text(stmt, 5, at->placer.partitioner->name);
		db_bind_text(stmt, 6, keypart_word(at->placer.part));
		db_bind_int(stmt, 7, at->partitions);
		db_bind_text(stmt, 8, at->placer.partitioner->users);
		if (db_run(stmt, t) < 0)
			return -1;
	}
	return 0;
}

static int write_partitions(sqlite3_stmt *stmt, const struct cause_topic *topic, size_t index, struct trouble *t)
{
	for (int32_t p = 0; p < topic->partitions; p++) {
		const struct cause_place *place = &topic->causes[index].places[p];

		if (!place->records)
			continue;
		db_bind_int(stmt, 1, topic->topic_id);
		db_bind_int(stmt, 2, (int64_t)index);
		db_bind_int(stmt, 3, p);
		db_bind_int(stmt, 4, place->keys);
		db_bind_int(stmt, 5, place->records);
		db_bind_int(stmt, 6, place->first_offset);
		db_bind_int(stmt, 7, place->first_ms);
		db_bind_int(stmt, 8, place->last_offset);
		db_bind_int(stmt, 9, place->last_ms);
		if (db_run(stmt, t) < 0)
			return -1;
	}
	return 0;
}

static int write_sample(sqlite3_stmt *stmt, const struct cause_topic *topic, size_t index, struct trouble *t)
{
	const struct cause *cause = &topic->causes[index];

	for (size_t i = 0; i < cause->sample_n; i++) {
		const struct cause_row *row = cause->sample[i];
		const struct attribute_placement *at = cause->placements;
		int32_t placed = at ? placer_partition(&at->placer, row->key.bytes, row->key.len, at->partitions) : -1;

		db_bind_int(stmt, 1, topic->topic_id);
		db_bind_int(stmt, 2, (int64_t)index);
		db_bind_int(stmt, 3, (int64_t)i);
		db_bind_blob(stmt, 4, row->key.bytes, row->key.len);
		db_bind_int(stmt, 5, row->partition);
		db_bind_int(stmt, 6, row->home);
		db_bind_int(stmt, 7, placed < 0 ? UNKNOWN : placed);
		if (db_run(stmt, t) < 0)
			return -1;
	}
	return 0;
}

static int write_each(sqlite3 *db, const char *sql, const struct cause_topic *topic,
		      int (*write)(sqlite3_stmt *, const struct cause_topic *, size_t, struct trouble *),
		      struct trouble *t)
{
	sqlite3_stmt *stmt;
	int result = 0;

	if (db_prepare(db, sql, &stmt, t) < 0)
		return -1;
	for (size_t i = 0; i < topic->cause_n && result == 0; i++)
		result = write(stmt, topic, i, t);
	sqlite3_finalize(stmt);
	return result;
}

/* Rows of off_home_key whose cause is still to be named. */
struct labels {
	const struct cause_topic *topic;
	const struct cause_row **rows;
};

static void fill_label(void *context, size_t index, struct bulk_row *row)
{
	const struct labels *labels = context;
	const struct cause_row *of = labels->rows[index];

	bulk_int(row, of->partition);
	bulk_int(row, of->hash);
	bulk_blob(row, of->key.bytes, of->key.len);
	bulk_int(row, of->cause == NO_CAUSE ? UNKNOWN : of->cause);
	bulk_int(row, labels->topic->topic_id);
}

/* index: of the cause of all rows; UNKNOWN: they have none. */
static int write_label(sqlite3 *db, const struct cause_topic *topic, int64_t index, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int result;

	if (db_prepare(db, sql_queries_cause_of_all, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, topic->topic_id);
	db_bind_int(stmt, 2, index);
	result = db_run(stmt, t);
	sqlite3_finalize(stmt);
	return result;
}

/*
 * Names the cause of each row of off_home_key: the one that most have at once, the others row by row. All rows were
 * written with the first one.
 */
static int write_labels(sqlite3 *db, const struct cause_topic *topic, struct trouble *t)
{
	struct labels labels = { topic, xarray(topic->row_n, sizeof(*labels.rows)) };
	struct bulk_source source = { 0, fill_label, &labels };
	size_t most = 0;
	int result = 0;

	for (size_t i = 1; i < topic->cause_n; i++)
		if (topic->causes[i].keys > topic->causes[most].keys)
			most = i;
	for (size_t i = 0; i < topic->row_n; i++)
		if (topic->rows[i].cause != most)
			labels.rows[source.rows++] = &topic->rows[i];
	if (most > 0)
		result = write_label(db, topic, (int64_t)most, t);
	if (result == 0 && source.rows)
		result = bulk_insert(db, sql_queries_cause_of_key, &source, t);
	free(labels.rows);
	return result;
}

int cause_write(sqlite3 *db, const struct cause_topic *topic, struct trouble *t)
{
	if (write_each(db, sql_queries_cause_add, topic, write_cause, t) < 0 ||
	    write_each(db, sql_queries_cause_member_add, topic, write_members, t) < 0 ||
	    write_each(db, sql_queries_cause_partition_add, topic, write_partitions, t) < 0 ||
	    write_each(db, sql_queries_cause_key_add, topic, write_sample, t) < 0)
		return -1;
	if ((topic->cause_n ? write_labels(db, topic, t) : write_label(db, topic, UNKNOWN, t)) < 0)
		return -1;
	return script_run(db, sql_queries_cause_stale, topic->topic_id, t);
}

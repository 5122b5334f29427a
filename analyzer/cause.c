/* cause: topic by topic, what needs no statistics first, then the rest. */
#include "analyzer/cause.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/cause_state.h"
#include "analyzer/keytable.h"
#include "analyzer/script.h"
#include "sql/db.h"
#include "sql/mem.h"
#include "sql_data.h"

enum { SEVERAL_LEAST = 3, SEVERAL_PER = 20 }; /* keys in several partitions: so many, and one in so many */

/* --- reading ----------------------------------------------------------------------------------------------------- */

static struct key_bytes keep_key(struct cause_topic *topic, sqlite3_stmt *row, int column)
{
	const void *bytes = sqlite3_column_blob(row, column); /* NULL for no bytes */
	size_t size = (size_t)sqlite3_column_bytes(row, column);

	return (struct key_bytes){ size ? arena_add(&topic->arena, bytes, size) : (const uint8_t *)"", size };
}

static void read_row(struct cause_topic *topic, sqlite3_stmt *row)
{
	topic->rows[topic->row_n++] = (struct cause_row){
		.partition = sqlite3_column_int(row, 0),
		.hash = sqlite3_column_int64(row, 1),
		.key = keep_key(topic, row, 2),
		.home = sqlite3_column_int(row, 3),
		.records = sqlite3_column_int64(row, 4),
		.first_offset = sqlite3_column_int64(row, 5),
		.last_offset = sqlite3_column_int64(row, 6),
		.first_ms = sqlite3_column_int64(row, 7),
		.last_ms = sqlite3_column_int64(row, 8),
		.stale = sqlite3_column_int(row, 9),
		.cause = NO_CAUSE,
	};
}

static void read_known(struct cause_topic *topic, sqlite3_stmt *row)
{
	topic->known = xgrow(topic->known, topic->known_n + 1, sizeof(*topic->known));
	topic->known[topic->known_n++] = sqlite3_column_int(row, 0);
}

static void read_sampled(struct cause_topic *topic, sqlite3_stmt *row)
{
	topic->sampled = xgrow(topic->sampled, topic->sampled_n + 1, sizeof(*topic->sampled));
	topic->sampled[topic->sampled_n++] = keep_key(topic, row, 0);
}

static void read_totals(struct cause_topic *topic, sqlite3_stmt *row)
{
	topic->keyed_records = sqlite3_column_int64(row, 0);
	topic->off_home_keys = sqlite3_column_int64(row, 1);
	topic->stale_keys = sqlite3_column_int64(row, 2);
}

static void read_partition(struct cause_topic *topic, sqlite3_stmt *row)
{
	int32_t partition = sqlite3_column_int(row, 0);

	if (partition < topic->partitions)
		topic->parts[partition] = (struct cause_partition){
			.off_home = sqlite3_column_int64(row, 1),
			.first_offset = sqlite3_column_int64(row, 2),
			.first_ms = sqlite3_column_int64(row, 3),
			.last_offset = sqlite3_column_int64(row, 4),
			.last_ms = sqlite3_column_int64(row, 5),
			.legal_between = sqlite3_column_int64(row, 6),
			.indexed_end = db_int(row, 7),
		};
}

static int read_all(sqlite3 *db, const char *sql, struct cause_topic *topic,
		    void (*read)(struct cause_topic *, sqlite3_stmt *), struct trouble *t)
{
	sqlite3_stmt *rows = db_query(db, sql, topic->topic_id, t);
	int more;

	while ((more = db_step(rows, t)) > 0)
		read(topic, rows);
	sqlite3_finalize(rows);
	return more;
}

static int read_topic(sqlite3 *db, struct cause_topic *topic, struct trouble *t)
{
	if (read_all(db, sql_queries_cause_rows, topic, read_row, t) < 0 ||
	    read_all(db, sql_queries_cause_counts, topic, read_known, t) < 0 ||
	    read_all(db, sql_queries_cause_totals, topic, read_totals, t) < 0 ||
	    read_all(db, sql_queries_cause_partitions, topic, read_partition, t) < 0 ||
	    read_all(db, sql_queries_cause_sampled, topic, read_sampled, t) < 0)
		return -1;
	return topic->sampled_n ? 0 : read_all(db, sql_queries_cause_hashed, topic, read_sampled, t);
}

/* --- causes ------------------------------------------------------------------------------------------------------ */

static struct cause *add_cause(struct cause_topic *topic, enum cause_kind kind, const char *confidence)
{
	struct cause *cause = &topic->causes[topic->cause_n++];

	*cause = (struct cause){ .kind = kind, .confidence = confidence, .ratio = 1 };
	return cause;
}

/* How many of the stale rows are where an earlier count puts them. */
static size_t stale_under(const struct cause_topic *topic, int32_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < topic->row_n; i++) {
		const struct cause_row *row = &topic->rows[i];

		n += row->stale && placer_partition(&topic->own, row->key.bytes, row->key.len, count) == row->partition;
	}
	return n;
}

static void find_stale(struct cause_topic *topic)
{
	struct cause *cause;
	size_t most = 0;

	if (!cause_settle_stale(topic))
		return;
	cause = add_cause(topic, CAUSE_STALE_METADATA, "certain");
	for (size_t i = 0; i < topic->row_n; i++)
		if (topic->rows[i].stale && topic->rows[i].cause == NO_CAUSE)
			topic->rows[i].cause = (uint8_t)(cause - topic->causes);
	for (size_t i = 0; i < topic->known_n; i++) {
		size_t n = stale_under(topic, topic->known[i]);

		if (n <= most)
			continue;
		most = n;
		if (!cause->placements)
			cause->placements = xalloc(sizeof(*cause->placements));
		cause->placements[0] = (struct attribute_placement){ topic->own, topic->known[i], 0 };
		cause->placement_n = cause->classes = 1;
	}
}

/* The cause that is known to put the row where it is, or NO_CAUSE. */
static uint8_t certain_of(const struct cause_topic *topic, const struct cause_row *row)
{
	for (size_t i = 0; i < topic->cause_n; i++) {
		const struct cause *cause = &topic->causes[i];
		const struct attribute_placement *at = cause->placements;

		if (cause->kind != CAUSE_STALE_METADATA && cause->classes == 1 &&
		    placer_partition(&at->placer, row->key.bytes, row->key.len, at->partitions) == row->partition)
			return (uint8_t)i;
	}
	return NO_CAUSE;
}

/* Empty keys: some clients hash them like others, and some place them by chance. */
static void find_empty(struct cause_topic *topic)
{
	struct cause *cause = NULL;

	for (size_t i = 0; i < topic->row_n; i++) {
		struct cause_row *row = &topic->rows[i];

		if (row->cause != NO_CAUSE || row->key.len)
			continue;
		row->cause = certain_of(topic, row);
		if (row->cause != NO_CAUSE)
			continue;
		if (cause)
			cause->repeats++;
		else
			cause = add_cause(topic, CAUSE_EMPTY_KEY, "certain");
		row->cause = (uint8_t)(cause - topic->causes);
	}
}

static int compare_keys(const struct cause_row *a, const struct cause_row *b)
{
	return key_compare(a->hash, a->key.bytes, a->key.len, b->hash, b->key.bytes, b->key.len);
}

static int by_key(const void *a, const void *b)
{
	const struct cause_row *x = *(struct cause_row *const *)a, *y = *(struct cause_row *const *)b;
	int order = compare_keys(x, y);

	return order ? order : (x->partition > y->partition) - (x->partition < y->partition);
}

/* The rows without a cause and with a key that is not empty, by hash, key and partition. The caller frees. */
static struct cause_row **rows_left(struct cause_topic *topic, bool stale, size_t *n)
{
	struct cause_row **rows = xarray(topic->row_n, sizeof(*rows));

	*n = 0;
	for (size_t i = 0; i < topic->row_n; i++)
		if (topic->rows[i].cause == NO_CAUSE && topic->rows[i].key.len && (stale || !topic->rows[i].stale))
			rows[(*n)++] = &topic->rows[i];
	qsort(rows, *n, sizeof(*rows), by_key);
	return rows;
}

/* Takes over what was found; *found gives its placements away. */
static void add_found(struct cause_topic *topic, struct attribute_cause *found)
{
	bool own = placer_same(&found->placements[0].placer, &topic->own);
	struct cause *cause = add_cause(topic, own ? CAUSE_PARTITION_COUNT : CAUSE_PARTITIONER,
					found->classes == 1 ? "certain" : "ambiguous");

	cause->placements = found->placements;
	cause->placement_n = found->placement_n;
	cause->more = found->more;
	cause->classes = found->classes;
	cause->tested = found->tested;
	cause->hypotheses = found->hypotheses;
	found->placements = NULL;
}

/* --- what nothing explains --------------------------------------------------------------------------------------- */

/*
 * Whether many keys stand in several partitions each, and no one moment parts their records in one from those in
 * another, as one at which a function gave way to another would. Rows by hash and key.
 */
static bool are_in_several(struct cause_row *const *rows, size_t n)
{
	int64_t from = INT64_MIN, to = INT64_MAX;
	size_t keys = 0, several = 0;

	for (size_t i = 0; i < n; i++) {
		const struct cause_row *early, *late;

		if (i == 0 || compare_keys(rows[i - 1], rows[i]) != 0) {
			keys++;
			continue;
		}
		several++;
		early = rows[i - 1]->first_ms <= rows[i]->first_ms ? rows[i - 1] : rows[i];
		late = early == rows[i] ? rows[i - 1] : rows[i];
		from = early->last_ms > from ? early->last_ms : from;
		to = late->first_ms < to ? late->first_ms : to;
	}
	return several >= SEVERAL_LEAST && several * SEVERAL_PER >= keys && from > to;
}

/* Whether so many keys stand in one partition alone that no function of the key did it. */
static bool are_in_one(const struct cause_topic *topic, struct cause_row *const *rows, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (rows[i]->partition != rows[0]->partition)
			return false;
	return n > topic->needed;
}

static void find_rest(struct cause_topic *topic, const struct attribute_result *result)
{
	size_t n;
	struct cause_row **rows = rows_left(topic, true, &n);
	bool several = are_in_several(rows, n), one = !several && are_in_one(topic, rows, n);
	struct cause *cause;

	if (n) {
		cause = add_cause(topic, several || one ? CAUSE_NOT_THE_KEY : CAUSE_UNKNOWN,
				  several || one      ? "certain"
				  : n < topic->needed ? "ambiguous"
						      : "unknown");
		cause->sign = several ? "several-partitions" : one ? "one-partition" : NULL;
		cause->tested = result->tested;
		cause->hypotheses = result->hypotheses;
		for (size_t i = 0; i < n; i++) {
			rows[i]->cause = (uint8_t)(cause - topic->causes);
			cause->repeats += i > 0 && compare_keys(rows[i - 1], rows[i]) == 0;
		}
	}
	free(rows);
}

static void find_causes(struct cause_topic *topic)
{
	struct attribute_result result = { 0 };
	struct attribute_input in = { .sampled = topic->sampled,
				      .sampled_n = topic->sampled_n,
				      .partitions = topic->partitions,
				      .known = topic->known,
				      .known_n = topic->known_n,
				      .own = topic->own };
	struct attribute_seen *seen;
	struct cause_row **rows;

	rows = rows_left(topic, false, &in.seen_n);
	seen = xarray(in.seen_n, sizeof(*seen));
	for (size_t i = 0; i < in.seen_n; i++)
		seen[i] = (struct attribute_seen){ rows[i]->key, rows[i]->partition };
	in.seen = seen;
	attribute(&in, &result);
	topic->needed = result.needed;
	for (size_t i = 0; i < result.n; i++) {
		add_found(topic, &result.cause[i]);
		topic->causes[i].ratio =
			result.cause[i].share * (double)in.seen_n / (double)result.cause[i].explained;
	}
	for (size_t i = 0; i < in.seen_n; i++)
		if (result.label[i] != ATTRIBUTE_NONE)
			rows[i]->cause = result.label[i];
	if (topic->cause_n > 1)
		cause_mark_shared(topic);
	find_stale(topic);
	find_empty(topic);
	find_rest(topic, &result);
	attribute_release(&result);
	free(seen);
	free(rows);
}

/*
 * Beside a pipeline whose keys are parts of record keys, a co-partitioned topic may have such record keys, too. They
 * were held against homes of whole keys, since nothing says which it has: this placement says it, and is no fault.
 */
static bool is_right(const struct cause_topic *topic, const struct cause *cause)
{
	for (size_t i = 0; i < cause->placement_n && topic->right_part != KEYPART_WHOLE; i++) {
		const struct attribute_placement *at = &cause->placements[i];

		if (at->placer.partitioner == topic->own.partitioner && at->placer.part == topic->right_part &&
		    at->partitions == topic->partitions)
			return true;
	}
	return false;
}

static void drop_cause(struct cause_topic *topic, size_t index)
{
	for (size_t i = 0; i < topic->row_n; i++) {
		struct cause_row *row = &topic->rows[i];

		if (row->cause == index)
			row->cause = NO_CAUSE;
		else if (row->cause != NO_CAUSE && row->cause > index)
			row->cause--;
	}
	free(topic->causes[index].placements);
	topic->cause_n--;
	memmove(&topic->causes[index], &topic->causes[index + 1], (topic->cause_n - index) * sizeof(topic->causes[0]));
}

/* --- topics ------------------------------------------------------------------------------------------------------ */

static void release(struct cause_topic *topic)
{
	for (size_t i = 0; i < topic->cause_n; i++) {
		free(topic->causes[i].placements);
		free(topic->causes[i].places);
	}
	free(topic->name);
	free(topic->pipeline);
	free(topic->known);
	free(topic->rows);
	free(topic->sampled);
	free(topic->parts);
	arena_release(&topic->arena);
}

static int begin(sqlite3_stmt *row, struct cause_topic *topic, struct trouble *t)
{
	const char *own = (const char *)sqlite3_column_text(row, 3), *part = (const char *)sqlite3_column_text(row, 6);

	*topic = (struct cause_topic){
		.topic_id = sqlite3_column_int64(row, 0),
		.name = db_text_dup(row, 1),
		.pipeline = db_text_dup(row, 2),
		.partitions = sqlite3_column_int(row, 4),
		.rows = xarray((size_t)sqlite3_column_int64(row, 5), sizeof(*topic->rows)),
	};
	topic->parts = xarray((size_t)topic->partitions, sizeof(*topic->parts));
	if (!placer_parse(own, &topic->own))
		return trouble_set(t, "there is no partitioner \"%s\"", own);
	if (!keypart_by_word(part, strlen(part), &topic->right_part))
		return trouble_set(t, "there is no key part \"%s\"", part);
	return 0;
}

static int work(sqlite3 *db, struct cause_topic *topic, struct trouble *t)
{
	if (read_topic(db, topic, t) < 0)
		return -1;
	find_causes(topic);
	for (size_t i = topic->cause_n; i-- > 0;)
		if (is_right(topic, &topic->causes[i]))
			drop_cause(topic, i);
	cause_sum(topic);
	return cause_write(db, topic, t);
}

/* The list is read to its end first: what follows writes to the tables that it comes from. */
static int read_topics(const struct run *run, sqlite3 *db, struct cause_topic **topics, size_t *n, struct trouble *t)
{
	sqlite3_stmt *rows = db_query(db, sql_queries_cause_topics, run->id, t);
	int more;

	while ((more = db_step(rows, t)) > 0) {
		*topics = xgrow(*topics, *n + 1, sizeof(**topics));
		if (begin(rows, &(*topics)[(*n)++], t) < 0)
			break;
	}
	sqlite3_finalize(rows);
	return more == 0 ? 0 : -1;
}

int cause_run(const struct run *run, sqlite3 *db, struct trouble *t)
{
	struct cause_topic *topics = NULL;
	size_t n = 0;
	int result;

	if (script_run(db, sql_queries_cause_clear, run->id, t) < 0)
		return trouble_wrap(t, "clear the last causes");
	result = read_topics(run, db, &topics, &n, t);
	for (size_t i = 0; i < n; i++) {
		if (result == 0 && work(db, &topics[i], t) < 0)
			result = trouble_wrap(t, "find what put keys of %s off home", topics[i].name);
		release(&topics[i]);
	}
	free(topics);
	return result;
}

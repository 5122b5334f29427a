/*
 * record: a virtual table, one row per record of the history.
 *
 *     topic             TEXT
 *     incarnation       INTEGER   incarnation_id. Without a constraint on it, all incarnations of the topic give rows
 *     partition         INTEGER
 *     offset            INTEGER
 *     ts                INTEGER   record timestamp, ms since 1970 UTC
 *     key               BLOB      NULL: a null key
 *     value_size        INTEGER   bytes; NULL: a tombstone
 *     value_hash        INTEGER   XXH3-64 of the value as int64; NULL: a tombstone
 *     kind              TEXT      committed, aborted
 *     tombstone         INTEGER   0, 1
 *     number            INTEGER   the value as an integer, where state is a sum; else NULL
 *     source_topic      TEXT      where a record of a DLQ or output topic says that it came from; NULL: it does not
 *     source_partition  INTEGER
 *     source_offset     INTEGER
 *
 * Rows come in the order of incarnation, partition and offset, and ORDER BY in that order costs nothing. Constraints on
 * topic, incarnation, partition, kind (=), offset and ts (= < <= > >=) decide which chunks are decoded, and the columns
 * that a query uses decide what of them:
 *
 *     SELECT count(*) FROM record WHERE incarnation = 1 AND partition = 3 AND offset >= 1000 AND offset < 2000;
 *
 * A cursor keeps its last chunk decoded, so a join that probes offsets in rising order decodes each chunk once.
 */
#include "sql/record.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sql/chunk_scan.h"
#include "sql/mem.h"
#include "sql/vtab.h"

#define KINDS 2

/* name, declaration, what must be decoded for it */
#define RECORD_COLUMNS(X)                                                                                              \
	X(TOPIC, "topic TEXT", 0)                                                                                      \
	X(INCARNATION, "incarnation INTEGER", 0)                                                                       \
	X(PARTITION, "partition INTEGER", 0)                                                                           \
	X(OFFSET, "offset INTEGER", CHUNK_OFFSET)                                                                      \
	X(TS, "ts INTEGER", CHUNK_TIMESTAMP)                                                                           \
	X(KEY, "key BLOB", CHUNK_KEY | CHUNK_FLAGS)                                                                    \
	X(VALUE_SIZE, "value_size INTEGER", CHUNK_VALUE_SIZE)                                                          \
	X(VALUE_HASH, "value_hash INTEGER", CHUNK_VALUE_HASH | CHUNK_FLAGS)                                            \
	X(KIND, "kind TEXT", 0)                                                                                        \
	X(TOMBSTONE, "tombstone INTEGER", CHUNK_FLAGS)                                                                 \
	X(NUMBER, "number INTEGER", CHUNK_NUMBER | CHUNK_FLAGS)                                                        \
	X(SOURCE_TOPIC, "source_topic TEXT", CHUNK_SOURCE | CHUNK_FLAGS)                                               \
	X(SOURCE_PARTITION, "source_partition INTEGER", CHUNK_SOURCE | CHUNK_FLAGS)                                    \
	X(SOURCE_OFFSET, "source_offset INTEGER", CHUNK_SOURCE | CHUNK_FLAGS)

enum {
#define COLUMN_ID(name, declaration, needs) COLUMN_##name,
	RECORD_COLUMNS(COLUMN_ID)
#undef COLUMN_ID
	COLUMNS,
};

static const char declaration[] = "CREATE TABLE record ("
#define COLUMN_DECLARATION(name, declaration, needs) declaration ", "
	RECORD_COLUMNS(COLUMN_DECLARATION)
#undef COLUMN_DECLARATION
		"PRIMARY KEY (incarnation, partition, offset, kind)) WITHOUT ROWID";

static const unsigned needs[COLUMNS] = {
#define COLUMN_NEEDS(name, declaration, needs) needs,
	RECORD_COLUMNS(COLUMN_NEEDS)
#undef COLUMN_NEEDS
};

/* Groups of pushes by what they narrow, in this order. */
static const struct vtab_push pushes[] = {
	{ COLUMN_TOPIC, SQLITE_INDEX_CONSTRAINT_EQ },	  { COLUMN_INCARNATION, SQLITE_INDEX_CONSTRAINT_EQ },
	{ COLUMN_PARTITION, SQLITE_INDEX_CONSTRAINT_EQ }, { COLUMN_KIND, SQLITE_INDEX_CONSTRAINT_EQ },
	{ COLUMN_OFFSET, SQLITE_INDEX_CONSTRAINT_EQ },	  { COLUMN_OFFSET, SQLITE_INDEX_CONSTRAINT_GE },
	{ COLUMN_OFFSET, SQLITE_INDEX_CONSTRAINT_GT },	  { COLUMN_OFFSET, SQLITE_INDEX_CONSTRAINT_LT },
	{ COLUMN_OFFSET, SQLITE_INDEX_CONSTRAINT_LE },	  { COLUMN_TS, SQLITE_INDEX_CONSTRAINT_EQ },
	{ COLUMN_TS, SQLITE_INDEX_CONSTRAINT_GE },	  { COLUMN_TS, SQLITE_INDEX_CONSTRAINT_GT },
	{ COLUMN_TS, SQLITE_INDEX_CONSTRAINT_LT },	  { COLUMN_TS, SQLITE_INDEX_CONSTRAINT_LE },
};

enum {
	PUSHES = sizeof(pushes) / sizeof(pushes[0]),
	PLAN_COLUMNS_SHIFT = 16, /* idxNum: plan, and above it enum chunk_columns */
};

_Static_assert(PUSHES <= PLAN_COLUMNS_SHIFT, "a plan fits below the columns");

struct record_table {
	sqlite3_vtab base;
	sqlite3 *db;
	struct vtab_shared *shared;
};

/* The records of one kind at the current place. */
struct lane {
	struct chunk_scan *scan;
	struct chunk_part part;
	int more; /* 1: part.from is its next record; 0: it has none */
};

struct record_cursor {
	sqlite3_vtab_cursor base;
	unsigned columns; /* of the scans; 0 before the first */
	struct vtab_places places;
	struct vtab_range offsets, times;
	bool wanted[KINDS];
	struct lane lanes[KINDS];
	int at;		 /* the lane of the current record, -1: at the end */
	int64_t counted; /* decoded chunks already added to shared */
};

/* --- the table --------------------------------------------------------------------------------------------------- */

static int record_connect(sqlite3 *db, void *shared, int count, const char *const *arguments, sqlite3_vtab **out,
			  char **error)
{
	int rc = sqlite3_declare_vtab(db, declaration);
	struct record_table *table;

	(void)count;
	(void)arguments;
	(void)error;
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	table = xalloc(sizeof(*table));
	table->db = db;
	table->shared = shared;
	*out = &table->base;
	return SQLITE_OK;
}

static int record_disconnect(sqlite3_vtab *base)
{
	free(base);
	return SQLITE_OK;
}

static unsigned columns_of(sqlite3_uint64 used)
{
	unsigned columns = CHUNK_OFFSET;

	for (int i = 0; i < COLUMNS; i++)
		columns |= used >> i & 1 ? needs[i] : 0;
	return columns;
}

static bool has(unsigned plan, int column, int op)
{
	for (size_t p = 0; p < PUSHES; p++) {
		if (plan >> p & 1 && pushes[p].column == column && (pushes[p].op == op || !op))
			return true;
	}
	return false;
}

/* Orders of magnitude are enough: each constraint must look better than none, and an offset best of all. */
static void estimate(sqlite3_index_info *info, unsigned plan)
{
	double places = 1000, records = 1000000;

	if (has(plan, COLUMN_TOPIC, 0))
		places /= 5;
	if (has(plan, COLUMN_INCARNATION, 0))
		places /= 10;
	if (has(plan, COLUMN_PARTITION, 0))
		places /= 20;
	if (has(plan, COLUMN_KIND, 0))
		records /= 1.5;
	if (has(plan, COLUMN_OFFSET, SQLITE_INDEX_CONSTRAINT_EQ))
		records = 1;
	else if (has(plan, COLUMN_OFFSET, 0))
		records /= 10;
	if (has(plan, COLUMN_TS, 0))
		records /= 2;
	places = places < 1 ? 1 : places;
	records = records < 1 ? 1 : records;
	info->estimatedRows = (sqlite3_int64)(places * records);
	info->estimatedCost = 10 + places * (20 + records);
}

static int record_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	static const int order[] = { COLUMN_INCARNATION, COLUMN_PARTITION, COLUMN_OFFSET, -1 };
	unsigned plan = vtab_choose(info, pushes, PUSHES);

	(void)base;
	info->idxNum = (int)(plan | columns_of(info->colUsed) << PLAN_COLUMNS_SHIFT);
	info->orderByConsumed = vtab_in_order(info, pushes, plan, order);
	estimate(info, plan);
	return SQLITE_OK;
}

/* --- the cursor -------------------------------------------------------------------------------------------------- */

static int record_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct record_cursor *c = xalloc(sizeof(*c));

	(void)base;
	c->at = -1;
	*out = &c->base;
	return SQLITE_OK;
}

static void count_decoded(struct record_cursor *c)
{
	struct record_table *table = (struct record_table *)c->base.pVtab;
	int64_t decoded = 0;

	for (int i = 0; i < KINDS; i++)
		decoded += c->lanes[i].scan ? chunk_scan_decoded(c->lanes[i].scan) : 0;
	table->shared->chunks_decoded += decoded - c->counted;
	c->counted = decoded;
}

static void free_lanes(struct record_cursor *c)
{
	for (int i = 0; i < KINDS; i++) {
		chunk_scan_free(c->lanes[i].scan);
		c->lanes[i] = (struct lane){ .scan = NULL };
	}
	c->counted = 0;
}

static int record_close(sqlite3_vtab_cursor *base)
{
	struct record_cursor *c = (struct record_cursor *)base;

	count_decoded(c);
	free_lanes(c);
	vtab_places_release(&c->places);
	free(c);
	return SQLITE_OK;
}

static int fail(struct record_cursor *c, const struct trouble *t)
{
	c->at = -1;
	return vtab_fail(c->base.pVtab, t);
}

/* The lane whose next record has the lowest offset; -1: none has one. */
static int lowest(const struct record_cursor *c)
{
	int best = -1;

	for (int i = 0; i < KINDS; i++) {
		const struct chunk_part *part = &c->lanes[i].part, *other = best < 0 ? NULL : &c->lanes[best].part;

		if (!c->lanes[i].more)
			continue;
		if (best < 0 || part->view->offset[part->from] < other->view->offset[other->from])
			best = i;
	}
	return best;
}

static void begin_place(struct record_cursor *c)
{
	for (int i = 0; i < KINDS; i++) {
		struct lane *lane = &c->lanes[i];
		struct chunk_place place = { c->places.incarnation_id, c->places.partition,
					     i == 0 ? CHUNK_COMMITTED : CHUNK_ABORTED };

		lane->part = (struct chunk_part){ .view = NULL };
		lane->more = c->wanted[i];
		chunk_scan_range(lane->scan, place, c->offsets.start, c->offsets.end);
		chunk_scan_times(lane->scan, c->times.start, c->times.end);
	}
}

/* Keeps every live lane at a record. */
static int peek(struct record_cursor *c, struct trouble *t)
{
	for (int i = 0; i < KINDS; i++) {
		struct lane *lane = &c->lanes[i];

		if (lane->more)
			lane->more = chunk_scan_peek(lane->scan, &lane->part, t);
		if (lane->more < 0)
			return -1;
	}
	return 0;
}

/* To the next record, in this place or a later one. */
static int settle(struct record_cursor *c)
{
	struct trouble t;
	int more;

	for (;;) {
		if (peek(c, &t) < 0)
			return fail(c, &t);
		c->at = lowest(c);
		if (c->at >= 0)
			return SQLITE_OK;
		more = vtab_places_next(&c->places, &t);
		if (more < 0)
			return fail(c, &t);
		if (!more)
			return SQLITE_OK;
		begin_place(c);
	}
}

static void want_kind(struct record_cursor *c, sqlite3_value *value)
{
	const char *text;

	if (sqlite3_value_type(value) != SQLITE_TEXT)
		return;
	text = (const char *)sqlite3_value_text(value);
	c->wanted[CHUNK_COMMITTED] = !strcmp(text, "committed");
	c->wanted[CHUNK_ABORTED] = !strcmp(text, "aborted");
}

/* Takes one constraint. False where nothing can meet it. */
static bool take(struct record_cursor *c, const struct vtab_push *push, sqlite3_value *value)
{
	switch (push->column) {
	case COLUMN_TOPIC:
		return vtab_places_topic(&c->places, value);
	case COLUMN_INCARNATION:
		vtab_narrow(&c->places.incarnations, push->op, value);
		return !vtab_is_empty(c->places.incarnations);
	case COLUMN_PARTITION:
		vtab_narrow(&c->places.partitions, push->op, value);
		return !vtab_is_empty(c->places.partitions);
	case COLUMN_KIND:
		want_kind(c, value);
		return sqlite3_value_type(value) != SQLITE_NULL;
	case COLUMN_OFFSET:
		vtab_narrow(&c->offsets, push->op, value);
		return !vtab_is_empty(c->offsets);
	default:
		vtab_narrow(&c->times, push->op, value);
		return c->times.start < c->times.end || c->times.end == INT64_MAX;
	}
}

static void make_lanes(struct record_cursor *c, unsigned columns)
{
	struct record_table *table = (struct record_table *)c->base.pVtab;

	if (c->columns == columns && c->lanes[0].scan)
		return;
	count_decoded(c);
	free_lanes(c);
	c->columns = columns;
	for (int i = 0; i < KINDS; i++)
		c->lanes[i].scan = chunk_scan_new(table->db, columns);
}

static int record_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int count, sqlite3_value **values)
{
	struct record_cursor *c = (struct record_cursor *)base;
	struct record_table *table = (struct record_table *)base->pVtab;
	bool possible = true;
	struct trouble t;

	(void)text;
	(void)count;
	make_lanes(c, (unsigned)plan >> PLAN_COLUMNS_SHIFT);
	vtab_places_reset(&c->places);
	c->offsets = c->times = VTAB_EVERYTHING;
	c->at = -1;
	for (int i = 0; i < KINDS; i++) {
		c->wanted[i] = true;
		c->lanes[i].more = 0;
	}
	for (size_t p = 0; p < PUSHES && possible; p++) {
		if (plan >> p & 1)
			possible = take(c, &pushes[p], *values++);
	}
	if (!possible)
		return SQLITE_OK;
	if (vtab_places_begin(&c->places, table->db, &t) < 0)
		return fail(c, &t);
	return settle(c);
}

static int record_next(sqlite3_vtab_cursor *base)
{
	struct record_cursor *c = (struct record_cursor *)base;
	struct chunk_part *part = &c->lanes[c->at].part;

	if (++part->from < part->to && !c->lanes[!c->at].more) /* the common case: one kind, the same chunk */
		return SQLITE_OK;
	return settle(c);
}

static int record_eof(sqlite3_vtab_cursor *base)
{
	struct record_cursor *c = (struct record_cursor *)base;

	if (c->at < 0)
		count_decoded(c);
	return c->at < 0;
}

/* --- columns ----------------------------------------------------------------------------------------------------- */

static void result_key(sqlite3_context *context, const struct chunk_view *v, size_t i)
{
	if (v->flags[i] & RECORD_NULL_KEY)
		return;
	sqlite3_result_blob64(context, v->key_bytes + v->key_at[i], v->key_at[i + 1] - v->key_at[i], SQLITE_TRANSIENT);
}

static void result_source(sqlite3_context *context, const struct chunk_view *v, size_t i, int column)
{
	if (!(v->flags[i] & RECORD_SOURCE) || !v->source_offset)
		return;
	if (column == COLUMN_SOURCE_PARTITION)
		sqlite3_result_int64(context, v->source_partition[i]);
	else if (column == COLUMN_SOURCE_OFFSET)
		sqlite3_result_int64(context, v->source_offset[i]);
	else
		sqlite3_result_text64(context, (const char *)v->source_topic_bytes + v->source_topic_at[i],
				      v->source_topic_at[i + 1] - v->source_topic_at[i], SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* Columns out of the chunk. What gives no result is NULL. */
static void result_record(sqlite3_context *context, const struct chunk_view *v, size_t i, int column)
{
	switch (column) {
	case COLUMN_OFFSET:
		sqlite3_result_int64(context, v->offset[i]);
		break;
	case COLUMN_TS:
		sqlite3_result_int64(context, v->timestamp_ms[i]);
		break;
	case COLUMN_KEY:
		result_key(context, v, i);
		break;
	case COLUMN_VALUE_SIZE:
		if (v->value_size[i] >= 0)
			sqlite3_result_int64(context, v->value_size[i]);
		break;
	case COLUMN_VALUE_HASH:
		if (!(v->flags[i] & RECORD_TOMBSTONE))
			sqlite3_result_int64(context, (int64_t)v->value_hash[i]);
		break;
	case COLUMN_TOMBSTONE:
		sqlite3_result_int(context, v->flags[i] & RECORD_TOMBSTONE);
		break;
	case COLUMN_NUMBER:
		if (v->flags[i] & RECORD_NUMBER && v->number)
			sqlite3_result_int64(context, v->number[i]);
		break;
	default:
		result_source(context, v, i, column);
	}
}

static int record_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	struct record_cursor *c = (struct record_cursor *)base;
	const struct chunk_part *part = &c->lanes[c->at].part;

	switch (column) {
	case COLUMN_TOPIC:
		sqlite3_result_text(context, c->places.topic, -1, SQLITE_TRANSIENT);
		break;
	case COLUMN_INCARNATION:
		sqlite3_result_int64(context, c->places.incarnation_id);
		break;
	case COLUMN_PARTITION:
		sqlite3_result_int64(context, c->places.partition);
		break;
	case COLUMN_KIND:
		sqlite3_result_text(context, c->at == CHUNK_COMMITTED ? "committed" : "aborted", -1, SQLITE_STATIC);
		break;
	default:
		result_record(context, part->view, part->from, column);
	}
	return SQLITE_OK;
}

const sqlite3_module record_module = {
	.iVersion = 1,
	.xConnect = record_connect,
	.xBestIndex = record_best_index,
	.xDisconnect = record_disconnect,
	.xOpen = record_open,
	.xClose = record_close,
	.xFilter = record_filter,
	.xNext = record_next,
	.xEof = record_eof,
	.xColumn = record_column,
};

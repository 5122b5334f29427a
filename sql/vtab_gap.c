/*
 * vtab_gap: gap, a virtual table, one row per gap of the history (sql/gap.h).
 *
 *     topic         TEXT
 *     incarnation   INTEGER
 *     partition     INTEGER
 *     start_offset  INTEGER   offsets [start_offset, end_offset)
 *     end_offset    INTEGER
 *     class         TEXT      control, aborted, compacted, trimmed, unknown
 *
 * Rows come in the order of incarnation, partition and start_offset. Constraints on topic, incarnation and partition
 * (=), and the two that ask for what overlaps a range, decide what is read:
 *
 *     SELECT class FROM gap WHERE incarnation = 1 AND partition = 3 AND start_offset <= 1234 AND end_offset > 1234;
 */
#include <stdbool.h>
#include <stdlib.h>

#include "sql/gap.h"
#include "sql/mem.h"
#include "sql/vtab.h"

enum { TOPIC, INCARNATION, PARTITION, START_OFFSET, END_OFFSET, CLASS };

static const char declaration[] =
	"CREATE TABLE gap (topic TEXT, incarnation INTEGER, partition INTEGER, start_offset INTEGER, "
	"end_offset INTEGER, class TEXT, "
	"PRIMARY KEY (incarnation, partition, start_offset)) WITHOUT ROWID";

static const struct vtab_push pushes[] = {
	{ TOPIC, SQLITE_INDEX_CONSTRAINT_EQ },	      { INCARNATION, SQLITE_INDEX_CONSTRAINT_EQ },
	{ PARTITION, SQLITE_INDEX_CONSTRAINT_EQ },    { START_OFFSET, SQLITE_INDEX_CONSTRAINT_EQ },
	{ START_OFFSET, SQLITE_INDEX_CONSTRAINT_LT }, { START_OFFSET, SQLITE_INDEX_CONSTRAINT_LE },
	{ START_OFFSET, SQLITE_INDEX_CONSTRAINT_GT }, { START_OFFSET, SQLITE_INDEX_CONSTRAINT_GE },
	{ END_OFFSET, SQLITE_INDEX_CONSTRAINT_GT },   { END_OFFSET, SQLITE_INDEX_CONSTRAINT_GE },
};

enum { PUSHES = sizeof(pushes) / sizeof(pushes[0]) };

struct gap_table {
	sqlite3_vtab base;
	sqlite3 *db;
	struct vtab_shared *shared;
};

struct gap_cursor {
	sqlite3_vtab_cursor base;
	struct gap_walk *walk;
	struct vtab_places places;
	struct vtab_range starts, ends; /* of start_offset and of end_offset */
	struct gap gap;
	bool end;
	int64_t counted; /* decoded chunks already added to shared */
};

static int gap_connect(sqlite3 *db, void *shared, int count, const char *const *arguments, sqlite3_vtab **out,
		       char **error)
{
	int rc = sqlite3_declare_vtab(db, declaration);
	struct gap_table *table;

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

static int gap_disconnect(sqlite3_vtab *base)
{
	free(base);
	return SQLITE_OK;
}

static int gap_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	static const int order[] = { INCARNATION, PARTITION, START_OFFSET, -1 };
	unsigned plan = vtab_choose(info, pushes, PUSHES);
	double rows = 100000000;

	(void)base;
	for (size_t p = 0; p < PUSHES; p++) {
		if (plan >> p & 1)
			rows /= pushes[p].op == SQLITE_INDEX_CONSTRAINT_EQ ? 20 : 10;
	}
	info->idxNum = (int)plan;
	info->orderByConsumed = vtab_in_order(info, pushes, plan, order);
	info->estimatedRows = rows < 1 ? 1 : (sqlite3_int64)rows;
	info->estimatedCost = 100 + rows;
	return SQLITE_OK;
}

static int gap_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct gap_table *table = (struct gap_table *)base;
	struct gap_cursor *c = xalloc(sizeof(*c));

	c->walk = gap_walk_new(table->db);
	c->end = true;
	*out = &c->base;
	return SQLITE_OK;
}

static void count_decoded(struct gap_cursor *c)
{
	struct gap_table *table = (struct gap_table *)c->base.pVtab;
	int64_t decoded = gap_walk_decoded(c->walk);

	table->shared->chunks_decoded += decoded - c->counted;
	c->counted = decoded;
}

static int gap_close(sqlite3_vtab_cursor *base)
{
	struct gap_cursor *c = (struct gap_cursor *)base;

	count_decoded(c);
	gap_walk_free(c->walk);
	vtab_places_release(&c->places);
	free(c);
	return SQLITE_OK;
}

/* The gaps that can have the wanted starts and ends: those with an offset in [start, end). */
static int begin_place(struct gap_cursor *c, struct trouble *t)
{
	int64_t start = c->ends.start > 1 ? c->ends.start - 1 : 0;

	if (c->starts.start > start)
		start = c->starts.start;
	return gap_walk_range(c->walk, c->places.incarnation_id, c->places.partition, start, c->starts.end, t);
}

/* 1 at a gap, 0 no more, -1. */
static int settle(struct gap_cursor *c, struct trouble *t)
{
	int more;

	while ((more = gap_walk_next(c->walk, &c->gap, t)) == 0) {
		more = vtab_places_next(&c->places, t);
		if (more > 0 && begin_place(c, t) < 0)
			more = -1;
		if (more <= 0)
			return more;
	}
	return more;
}

static int gap_next(sqlite3_vtab_cursor *base)
{
	struct gap_cursor *c = (struct gap_cursor *)base;
	struct trouble t;
	int more = settle(c, &t);

	c->end = more <= 0;
	if (c->end)
		count_decoded(c);
	return more < 0 ? vtab_fail(base->pVtab, &t) : SQLITE_OK;
}

/* Takes one constraint. False where nothing can meet it. */
static bool take(struct gap_cursor *c, const struct vtab_push *push, sqlite3_value *value)
{
	struct vtab_range *range = push->column == INCARNATION	  ? &c->places.incarnations
				   : push->column == PARTITION	  ? &c->places.partitions
				   : push->column == START_OFFSET ? &c->starts
								  : &c->ends;

	if (push->column == TOPIC)
		return vtab_places_topic(&c->places, value);
	vtab_narrow(range, push->op, value);
	return !vtab_is_empty(*range);
}

static int gap_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int count, sqlite3_value **values)
{
	struct gap_cursor *c = (struct gap_cursor *)base;
	struct gap_table *table = (struct gap_table *)base->pVtab;
	bool possible = true;
	struct trouble t;

	(void)text;
	(void)count;
	vtab_places_reset(&c->places);
	c->starts = c->ends = VTAB_EVERYTHING;
	c->end = true;
	for (size_t p = 0; p < PUSHES && possible; p++) {
		if (plan >> p & 1)
			possible = take(c, &pushes[p], *values++);
	}
	if (!possible)
		return SQLITE_OK;
	if (gap_walk_range(c->walk, 0, 0, 0, 0, &t) < 0 || vtab_places_begin(&c->places, table->db, &t) < 0)
		return vtab_fail(base->pVtab, &t);
	return gap_next(base);
}

static int gap_eof(sqlite3_vtab_cursor *base)
{
	return ((struct gap_cursor *)base)->end;
}

static int gap_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct gap_cursor *c = (struct gap_cursor *)base;

	switch (column) {
	case TOPIC:
		sqlite3_result_text(context, c->places.topic, -1, SQLITE_TRANSIENT);
		break;
	case INCARNATION:
		sqlite3_result_int64(context, c->places.incarnation_id);
		break;
	case PARTITION:
		sqlite3_result_int64(context, c->places.partition);
		break;
	case START_OFFSET:
		sqlite3_result_int64(context, c->gap.start);
		break;
	case END_OFFSET:
		sqlite3_result_int64(context, c->gap.end);
		break;
	default:
		sqlite3_result_text(context, gap_class_name(c->gap.class), -1, SQLITE_STATIC);
	}
	return SQLITE_OK;
}

const sqlite3_module gap_module = {
	.iVersion = 1,
	.xConnect = gap_connect,
	.xBestIndex = gap_best_index,
	.xDisconnect = gap_disconnect,
	.xOpen = gap_open,
	.xClose = gap_close,
	.xFilter = gap_filter,
	.xNext = gap_next,
	.xEof = gap_eof,
	.xColumn = gap_column,
};

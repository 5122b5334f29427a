/* vtab: constraints, ranges, places; and the registration of the tables. */
#include "sql/vtab.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sql/db.h"
#include "sql/mem.h"
#include "sql/record.h"
#include "sql_data.h"

/* --- constraints ------------------------------------------------------------------------------------------------- */

static bool fits(sqlite3_index_info *info, int i, const struct vtab_push *push)
{
	const struct sqlite3_index_constraint *c = &info->aConstraint[i];

	return c->usable && c->iColumn == push->column && c->op == push->op &&
	       !strcmp(sqlite3_vtab_collation(info, i), "BINARY");
}

unsigned vtab_choose(sqlite3_index_info *info, const struct vtab_push *pushes, size_t count)
{
	unsigned plan = 0;
	int arguments = 0;

	for (size_t p = 0; p < count; p++) {
		for (int i = 0; i < info->nConstraint; i++) {
			if (info->aConstraintUsage[i].argvIndex || !fits(info, i, &pushes[p]))
				continue;
			info->aConstraintUsage[i].argvIndex = ++arguments;
			plan |= 1u << p;
			break;
		}
	}
	return plan;
}

static bool is_fixed(const struct vtab_push *pushes, unsigned plan, int column)
{
	for (size_t p = 0; plan >> p; p++) {
		if (plan >> p & 1 && pushes[p].column == column && pushes[p].op == SQLITE_INDEX_CONSTRAINT_EQ)
			return true;
	}
	return false;
}

int vtab_in_order(const sqlite3_index_info *info, const struct vtab_push *pushes, unsigned plan, const int *order)
{
	for (int i = 0; i < info->nOrderBy; i++) {
		const struct sqlite3_index_orderby *term = &info->aOrderBy[i];

		if (is_fixed(pushes, plan, term->iColumn))
			continue;
		while (*order >= 0 && is_fixed(pushes, plan, *order))
			order++;
		if (*order != term->iColumn || term->desc)
			return 0;
		order++;
	}
	return 1;
}

/* --- ranges ------------------------------------------------------------------------------------------------------ */

static int64_t after(int64_t value)
{
	return value < INT64_MAX ? value + 1 : value;
}

static void narrow_start(struct vtab_range *range, int64_t start)
{
	if (start > range->start)
		range->start = start;
}

static void narrow_end(struct vtab_range *range, int64_t end)
{
	if (end < range->end)
		range->end = end;
}

/* From `column >= low` and `column < end`, whichever of them op means. */
static void narrow_ends(struct vtab_range *range, int op, int64_t low, int64_t end)
{
	bool above = op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_GT ||
		     op == SQLITE_INDEX_CONSTRAINT_GE;
	bool below = op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_LT ||
		     op == SQLITE_INDEX_CONSTRAINT_LE;

	if (above)
		narrow_start(range, low);
	if (below)
		narrow_end(range, end);
}

static void narrow_real(struct vtab_range *range, int op, double value)
{
	const double limit = 9223372036854775808.0; /* 2^63 */

	if (value >= limit)
		narrow_ends(range, op, INT64_MAX, INT64_MAX);
	else if (value < -limit)
		narrow_ends(range, op, INT64_MIN, INT64_MIN);
	else
		narrow_ends(range, op, (int64_t)floor(value), after((int64_t)floor(value)));
}

void vtab_narrow(struct vtab_range *range, int op, sqlite3_value *value)
{
	int64_t v;

	switch (sqlite3_value_numeric_type(value)) {
	case SQLITE_INTEGER:
		v = sqlite3_value_int64(value);
		narrow_ends(range, op, op == SQLITE_INDEX_CONSTRAINT_GT ? after(v) : v,
			    op == SQLITE_INDEX_CONSTRAINT_LT ? v : after(v));
		break;
	case SQLITE_FLOAT:
		narrow_real(range, op, sqlite3_value_double(value));
		break;
	case SQLITE_NULL:
		*range = (struct vtab_range){ 0, 0 };
		break;
	default:
		break;
	}
}

int vtab_fail(sqlite3_vtab *table, const struct trouble *t)
{
	sqlite3_free(table->zErrMsg);
	table->zErrMsg = sqlite3_mprintf("%s", t->text);
	return SQLITE_ERROR;
}

/* --- places ------------------------------------------------------------------------------------------------------ */

int vtab_places_topic(struct vtab_places *places, sqlite3_value *value)
{
	if (sqlite3_value_type(value) == SQLITE_NULL)
		return 0;
	free(places->topic_wanted);
	places->topic_wanted = NULL;
	if (sqlite3_value_type(value) != SQLITE_BLOB)
		places->topic_wanted = xstrdup((const char *)sqlite3_value_text(value));
	return 1;
}

int vtab_places_begin(struct vtab_places *places, sqlite3 *db, struct trouble *t)
{
	if (!places->stmt && db_prepare(db, sql_queries_vtab_places, &places->stmt, t) < 0)
		return -1;
	sqlite3_reset(places->stmt);
	db_bind_text(places->stmt, 1, places->topic_wanted);
	sqlite3_bind_int64(places->stmt, 2, places->incarnations.start); /* INT64_MIN is a number here */
	sqlite3_bind_int64(places->stmt, 3, places->incarnations.end);
	sqlite3_bind_int64(places->stmt, 4, places->partitions.start);
	sqlite3_bind_int64(places->stmt, 5, places->partitions.end);
	return 0;
}

int vtab_places_next(struct vtab_places *places, struct trouble *t)
{
	int more = db_step(places->stmt, t);

	if (more <= 0)
		return more;
	places->incarnation_id = db_int(places->stmt, 0);
	places->partition = db_int(places->stmt, 1);
	places->topic = (const char *)sqlite3_column_text(places->stmt, 2);
	return 1;
}

void vtab_places_reset(struct vtab_places *places)
{
	sqlite3_stmt *stmt = places->stmt;

	sqlite3_reset(stmt);
	free(places->topic_wanted);
	*places = (struct vtab_places){
		.stmt = stmt,
		.incarnations = VTAB_EVERYTHING,
		.partitions = VTAB_EVERYTHING,
	};
}

void vtab_places_release(struct vtab_places *places)
{
	sqlite3_finalize(places->stmt);
	free(places->topic_wanted);
	*places = (struct vtab_places){ .stmt = NULL };
}

/* --- registration ------------------------------------------------------------------------------------------------ */

static void chunks_decoded(sqlite3_context *context, int count, sqlite3_value **values)
{
	const struct vtab_shared *shared = sqlite3_user_data(context);

	(void)count;
	(void)values;
	sqlite3_result_int64(context, shared->chunks_decoded);
}

int vtabs_register(sqlite3 *db)
{
	struct vtab_shared *shared = xalloc(sizeof(*shared)); /* owned by the function */
	int rc = sqlite3_create_function_v2(db, "fencepost_chunks_decoded", 0, SQLITE_UTF8, shared, chunks_decoded,
					    NULL, NULL, free);

	if (rc == SQLITE_OK)
		rc = sqlite3_create_module_v2(db, "record", &record_module, shared, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_module_v2(db, "gap", &gap_module, shared, NULL);
	return rc;
}

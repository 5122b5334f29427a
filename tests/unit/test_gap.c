/* The table gap: every class by hand, then random histories against a model that classes offset by offset. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sql/gap.h"
#include "sql/record.h"
#include "tests/unit/history.h"

static struct history h;

static int before(void **state)
{
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(vtabs_register(db), SQLITE_OK);
	history_open(&h, db);
	history_run(db, "INSERT INTO incarnation (incarnation_id, cluster, topic, isolation, begun_run) VALUES "
			"(1, 'c', 'orders', 'read_committed', 1), (2, 'c', 'payments', 'read_committed', 1)");
	return 0;
}

static int after(void **state)
{
	(void)state;
	history_close(&h);
	return 0;
}

#define GAPS "SELECT start_offset, end_offset, class FROM gap"

static void test_classes(void **state)
{
	(void)state;
	/* Committed: [10, 20), [25, 40), [45, 60). Re-read for aborted records below 70, read to 80. */
	history_run(h.db, "INSERT INTO partition VALUES (1, 3, 10, 80, 70);"
			  "INSERT INTO gap_range VALUES (1, 3, 40, 43, 'trimmed', 1), (1, 3, 43, 45, 'unknown', 1)");
	history_at(&h, 1, 3, CHUNK_COMMITTED);
	history_fill(&h, 10, 20);
	history_fill(&h, 25, 40);
	history_seal(&h);
	history_fill(&h, 45, 60);
	history_seal(&h);
	history_at(&h, 1, 3, CHUNK_ABORTED);
	history_fill(&h, 20, 23);
	history_fill(&h, 62, 64);
	history_fill(&h, 72, 73);
	history_seal(&h);
	assert_rows(h.db, GAPS,
		    "0|10|trimmed\n20|23|aborted\n23|25|control\n40|43|trimmed\n43|45|unknown\n60|62|control\n62|64|"
		    "aborted\n"
		    "64|70|control\n70|72|unknown\n72|73|aborted\n73|80|unknown\n");
	history_run(h.db, "UPDATE incarnation SET policy_unknown = 1");
	assert_rows(h.db, GAPS " WHERE start_offset >= 60",
		    "60|62|unknown\n62|64|aborted\n64|72|unknown\n72|73|aborted\n73|80|unknown\n");
	history_run(h.db,
		    "INSERT INTO topic (topic_id, run_id, pipeline_id, topic, role, incarnation_id, cleanup_policy) "
		    "VALUES (1, 1, 1, 'orders', 'source', 1, 'delete')");
	assert_rows(h.db, GAPS " WHERE start_offset = 64", "64|70|control\n");
	history_run(h.db, "UPDATE incarnation SET compacted = 1");
	assert_rows(h.db, GAPS " WHERE class = 'compacted'", "23|25|compacted\n60|62|compacted\n64|70|compacted\n");
}

static void test_no_gaps(void **state)
{
	(void)state;
	history_run(h.db, "INSERT INTO partition VALUES (1, 0, 0, 100, 100), (1, 1, 0, 0, 0)");
	history_at(&h, 1, 0, CHUNK_COMMITTED);
	history_fill(&h, 0, 50);
	history_seal(&h);
	history_fill(&h, 50, 100);
	history_seal(&h);
	assert_rows(h.db, GAPS, "");
	assert_rows(h.db, GAPS " WHERE topic = 'none' OR incarnation = 9", "");
}

/* Nothing but a marker, and a partition that begins late and is empty since. */
static void test_without_records(void **state)
{
	(void)state;
	history_run(h.db, "INSERT INTO partition VALUES (1, 0, 0, 1, 1), (1, 1, 500, 500, 500), (2, 4, 7, 9, 7)");
	assert_rows(h.db, "SELECT topic, incarnation, partition, start_offset, end_offset, class FROM gap",
		    "orders|1|0|0|1|control\norders|1|1|0|500|trimmed\npayments|2|4|0|7|trimmed\npayments|2|4|7|9|"
		    "unknown\n");
	assert_rows(h.db, GAPS " WHERE topic = 'payments' AND partition = 4 ORDER BY start_offset",
		    "0|7|trimmed\n7|9|unknown\n");
}

/* Trimmed ranges that touch are one gap. */
static void test_merged(void **state)
{
	(void)state;
	history_run(h.db, "INSERT INTO partition VALUES (1, 0, 10, 30, 30);"
			  "INSERT INTO gap_range VALUES (1, 0, 10, 15, 'trimmed', 1), (1, 0, 15, 20, 'trimmed', 2), "
			  "(1, 0, 18, 25, 'unknown', 2)");
	assert_rows(h.db, GAPS, "0|20|trimmed\n20|25|unknown\n25|30|control\n");
}

static void test_damaged(void **state)
{
	char *rows;

	(void)state;
	history_run(h.db, "INSERT INTO partition VALUES (1, 0, 0, 100, 100)");
	history_at(&h, 1, 0, CHUNK_ABORTED);
	history_fill(&h, 5, 9);
	history_seal(&h);
	history_run(h.db, "UPDATE chunk SET data = CAST(substr(data, 1, 40) AS BLOB)");
	rows = history_ask(h.db, GAPS);
	assert_non_null(strstr(rows, "chunk of incarnation 1, partition 0, first offset 5: truncated: "));
	free(rows);
}

/* --- random histories -------------------------------------------------------------------------------------------- */

static uint64_t random_state;

static int64_t below(int64_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (int64_t)(random_state % (uint64_t)limit);
}

enum { OFFSETS = 200 };

struct model {
	int64_t first, next, gap;
	char record[OFFSETS]; /* 'c' committed, 'a' aborted, 0 none */
	const char *range[OFFSETS];
	bool compacted;
};

static const char *model_class(const struct model *m, int64_t offset)
{
	if (offset < m->first)
		return "trimmed";
	if (m->range[offset])
		return m->range[offset];
	if (m->record[offset] == 'a')
		return "aborted";
	if (offset >= m->gap)
		return "unknown";
	return m->compacted ? "compacted" : "control";
}

/* What GAPS must show of the gaps with an offset in [start, end). */
static char *model_gaps(const struct model *m, int64_t start, int64_t end)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (int64_t at = 0; at < m->next;) {
		int64_t to = at;
		const char *class = model_class(m, at);

		if (m->record[at] == 'c') {
			at++;
			continue;
		}
		while (to < m->next && m->record[to] != 'c' && !strcmp(model_class(m, to), class))
			to++;
		if (at < end && to > start)
			fprintf(out, "%lld|%lld|%s\n", (long long)at, (long long)to, class);
		at = to;
	}
	fclose(out);
	return text;
}

static void fill_kind(const struct model *m, char kind)
{
	history_at(&h, 1, 0, kind == 'c' ? CHUNK_COMMITTED : CHUNK_ABORTED);
	for (int64_t offset = 0; offset < m->next; offset++) {
		if (m->record[offset] == kind)
			history_fill(&h, offset, offset + 1);
		if (chunk_builder_span(h.builder).records && below(30) == 0)
			history_seal(&h);
	}
	if (chunk_builder_span(h.builder).records)
		history_seal(&h);
}

static void add_ranges(struct model *m)
{
	static const char *const classes[] = { "trimmed", "unknown" };

	for (int64_t at = m->first; at < m->next; at += below(60)) {
		int64_t end = at + 1 + below(20);
		const char *class = classes[below(2)];
		char *sql = sqlite3_mprintf("INSERT INTO gap_range VALUES (1, 0, %lld, %lld, '%s', 1)", (long long)at,
					    (long long)end, class);

		history_run(h.db, sql);
		for (int64_t i = at; i < end && i < m->next; i++)
			m->range[i] = class;
		sqlite3_free(sql);
		at = end;
	}
}

static void make_model(struct model *m)
{
	char *sql;
	int density = 1 + (int)below(20);

	*m = (struct model){ .next = below(OFFSETS), .compacted = below(2) };
	m->first = below(m->next + 1);
	m->gap = m->first + below(m->next - m->first + 1);
	for (int64_t i = m->first; i < m->next; i++)
		m->record[i] = "ca"[below(density) ? 0 : below(2)] * (below(density) ? 1 : 0);
	sql = sqlite3_mprintf(
		"INSERT INTO partition VALUES (1, 0, %lld, %lld, %lld); UPDATE incarnation SET compacted = %d",
		(long long)m->first, (long long)m->next, (long long)m->gap, (int)m->compacted);
	history_run(h.db, sql);
	sqlite3_free(sql);
	fill_kind(m, 'c');
	fill_kind(m, 'a');
	add_ranges(m);
}

static void compare(const struct model *m)
{
	int64_t start = below(OFFSETS), end = start + 1 + below(OFFSETS);
	char *sql = sqlite3_mprintf(
		GAPS " WHERE incarnation = 1 AND partition = 0 AND start_offset < %lld AND end_offset > %lld",
		(long long)end, (long long)start);
	char *all = model_gaps(m, 0, INT64_MAX), *some = model_gaps(m, start, end);

	assert_rows(h.db, GAPS, all);
	assert_rows(h.db, sql, some);
	sqlite3_free(sql);
	free(all);
	free(some);
}

static void test_model(void **state)
{
	struct model m;

	(void)state;
	random_state = 20240611;
	for (int round = 0; round < 400; round++) {
		history_run(h.db, "DELETE FROM chunk; DELETE FROM partition; DELETE FROM gap_range");
		make_model(&m);
		for (int i = 0; i < 5; i++)
			compare(&m);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)
	const struct CMUnitTest tests[] = {
		TEST(test_classes), TEST(test_no_gaps), TEST(test_without_records),
		TEST(test_merged),  TEST(test_damaged), TEST(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The table record: rows, order, push-down and what it costs, and the words for a damaged chunk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sql/chunk_scan.h"
#include "sql/record.h"
#include "tests/unit/history.h"

static struct history h;

/*
 * orders, incarnation 1: partition 0 has committed chunks [0, 100), [100, 200), [200, 250) + [260, 300) and aborted
 * records [250, 255); partition 1 has [50, 60). Incarnation 2 of the same topic: partition 0 has [0, 5). payments,
 * incarnation 3: every kind of record.
 */
static int before(void **state)
{
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(vtabs_register(db), SQLITE_OK);
	history_open(&h, db);
	history_run(db, "INSERT INTO incarnation (incarnation_id, cluster, topic, isolation, begun_run) VALUES "
			"(1, 'c', 'orders', 'read_committed', 1), (2, 'c', 'orders', 'read_committed', 2), "
			"(3, 'c', 'payments', 'read_committed', 1);"
			"INSERT INTO partition VALUES (1, 0, 0, 300, 300), (1, 1, 50, 60, 60), (2, 0, 0, 5, 5), (3, 7, "
			"0, 9, 9)");
	history_at(&h, 1, 0, CHUNK_COMMITTED);
	for (int64_t start = 0; start < 200; start += 100) {
		history_fill(&h, start, start + 100);
		history_seal(&h);
	}
	history_fill(&h, 200, 250);
	history_fill(&h, 260, 300);
	history_seal(&h);
	history_at(&h, 1, 0, CHUNK_ABORTED);
	history_fill(&h, 250, 255);
	history_seal(&h);
	history_at(&h, 1, 1, CHUNK_COMMITTED);
	history_fill(&h, 50, 60);
	history_seal(&h);
	history_at(&h, 2, 0, CHUNK_COMMITTED);
	history_fill(&h, 0, 5);
	history_seal(&h);
	history_at(&h, 3, 7, CHUNK_COMMITTED);
	history_add(&h, &(struct record){ .offset = 3,
					  .timestamp_ms = -1,
					  .key = "a\0b",
					  .key_size = 3,
					  .value_size = 0,
					  .value_hash = UINT64_MAX });
	history_add(&h, &(struct record){ .offset = 4, .timestamp_ms = 5, .key_size = -1, .value_size = -1 });
	history_add(&h, &(struct record){ .offset = 6,
					  .timestamp_ms = INT64_MAX,
					  .key = "",
					  .key_size = 0,
					  .value_size = 4,
					  .has_number = true,
					  .number = INT64_MIN,
					  .source_topic = "orders",
					  .source_topic_size = 6,
					  .source_partition = 2,
					  .source_offset = 55 });
	history_seal(&h);
	return 0;
}

static int after(void **state)
{
	(void)state;
	history_close(&h);
	return 0;
}

/* How many chunks one more query decodes. */
static int64_t decoded_by(const char *sql)
{
	char *before_text = history_ask(h.db, "SELECT fencepost_chunks_decoded()"), *after_text;
	int64_t decoded;

	free(history_ask(h.db, sql));
	after_text = history_ask(h.db, "SELECT fencepost_chunks_decoded()");
	decoded = atoll(after_text) - atoll(before_text);
	free(before_text);
	free(after_text);
	return decoded;
}

static void test_rows(void **state)
{
	(void)state;
	assert_rows(h.db,
		    "SELECT topic, incarnation, partition, offset, ts, hex(key), value_size, value_hash, kind, "
		    "tombstone, number, "
		    "source_topic, source_partition, source_offset FROM record WHERE topic = 'payments'",
		    "payments|3|7|3|-1|610062|0|-1|committed|0|-|-|-|-\n"
		    "payments|3|7|4|5||-|-|committed|1|-|-|-|-\n"
		    "payments|3|7|6|9223372036854775807||4|0|committed|0|-9223372036854775808|orders|2|55\n");
	assert_rows(h.db, "SELECT offset, typeof(key) FROM record WHERE topic = 'payments'",
		    "3|blob\n4|null\n6|blob\n");
	assert_rows(h.db, "SELECT count(*), sum(tombstone) FROM record", "313|1\n");
}

static void test_places(void **state)
{
	(void)state;
	assert_rows(h.db,
		    "SELECT incarnation, partition, kind, count(*), min(offset), max(offset) + 1 FROM record GROUP BY "
		    "1, 2, 3",
		    "1|0|aborted|5|250|255\n1|0|committed|290|0|300\n1|1|committed|10|50|60\n2|0|committed|5|0|5\n"
		    "3|7|committed|3|3|7\n");
	assert_rows(h.db, "SELECT count(*) FROM record WHERE topic = 'orders'", "310\n");
	assert_rows(h.db, "SELECT count(*) FROM record WHERE topic = 'orders' AND incarnation = 2", "5\n");
	assert_rows(h.db, "SELECT count(*) FROM record WHERE topic = 'ORDERS'", "0\n");
	assert_rows(h.db, "SELECT count(*) FROM record WHERE topic = 'ORDERS' COLLATE NOCASE", "310\n");
	assert_rows(h.db, "SELECT count(*) FROM record WHERE topic IS NULL OR topic = NULL", "0\n");
	assert_rows(h.db, "SELECT count(*) FROM record WHERE partition IN (1, 7)", "13\n");
	assert_rows(h.db, "SELECT count(*) FROM record WHERE kind = 'aborted'", "5\n");
	assert_rows(h.db, "SELECT count(*) FROM record WHERE kind = 'other'", "0\n");
}

static void test_order(void **state)
{
	(void)state;
	assert_rows(h.db,
		    "SELECT offset, kind FROM record WHERE incarnation = 1 AND partition = 0 AND offset >= 248 AND "
		    "offset < 262 "
		    "ORDER BY offset",
		    "248|committed\n249|committed\n250|aborted\n251|aborted\n252|aborted\n253|aborted\n254|aborted\n"
		    "260|committed\n261|committed\n");
	assert_rows(h.db,
		    "SELECT count(*) FROM (SELECT offset, lag(offset) OVER () AS before FROM "
		    "(SELECT offset FROM record WHERE incarnation = 1 AND partition = 0 ORDER BY offset)) WHERE offset "
		    "<= before",
		    "0\n");
	assert_rows(h.db,
		    "SELECT offset FROM record WHERE incarnation = 1 AND partition = 1 ORDER BY offset DESC LIMIT 2",
		    "59\n58\n");
	assert_rows(h.db,
		    "SELECT incarnation, partition, offset FROM record WHERE topic = 'orders' AND offset = 2 "
		    "ORDER BY offset, incarnation",
		    "1|0|2\n2|0|2\n");
}

static void test_order_costs_nothing(void **state)
{
	static const struct {
		const char *sql;
		bool sorts;
	} queries[] = {
		{ "SELECT offset FROM record ORDER BY incarnation, partition, offset", false },
		{ "SELECT offset FROM record WHERE incarnation = 1 AND partition = 0 ORDER BY offset", false },
		{ "SELECT offset FROM record WHERE incarnation = 1 ORDER BY partition, offset", false },
		{ "SELECT offset FROM record WHERE incarnation = 1 ORDER BY incarnation, partition", false },
		{ "SELECT offset FROM record ORDER BY offset", true },
		{ "SELECT offset FROM record WHERE topic = 'orders' AND partition = 0 ORDER BY offset", true },
		{ "SELECT offset FROM record WHERE incarnation = 1 AND partition = 0 ORDER BY offset DESC", true },
		{ "SELECT offset FROM record WHERE incarnation = 1 AND partition = 0 ORDER BY ts", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		char *sql = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", queries[i].sql);
		char *plan = history_ask(h.db, sql);

		assert_int_equal(strstr(plan, "B-TREE") != NULL, queries[i].sorts);
		free(plan);
		sqlite3_free(sql);
	}
}

/* Every way to write a bound gives what a scan of everything gives. */
static void test_bounds(void **state)
{
	static const char *const columns[] = { "offset", "ts", "partition", "incarnation" };
	static const char *const ops[] = { "=", "<", "<=", ">", ">=" };
	static const char *const values[] = {
		"0",
		"99",
		"100",
		"249.5",
		"250.0",
		"'255'",
		"' 260 '",
		"'x'",
		"x'00'",
		"NULL",
		"-1",
		"9223372036854775807",
		"-9223372036854775808",
		"9e18",
		"1e19",
		"-1e19",
		"1e400",
		"-1e400",
		"1",
		"7",
		"3.0",
		"100000",
		"249000.5",
		"250999",
	};

	(void)state;
	for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
		for (size_t o = 0; o < sizeof(ops) / sizeof(ops[0]); o++) {
			for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
				char *pushed =
					sqlite3_mprintf("SELECT count(*), sum(offset) FROM record WHERE %s %s %s",
							columns[c], ops[o], values[v]);
				/* a column that is an expression is not pushed down; the cast gives it back its
				 * affinity */
				char *plain = sqlite3_mprintf(
					"SELECT count(*), sum(offset) FROM record WHERE CAST(%s AS INTEGER) %s %s",
					columns[c], ops[o], values[v]);
				char *a = history_ask(h.db, pushed), *b = history_ask(h.db, plain);

				if (strcmp(a, b))
					print_error("%s\n", pushed);
				assert_string_equal(a, b);
				free(a);
				free(b);
				sqlite3_free(pushed);
				sqlite3_free(plain);
			}
		}
	}
}

static void test_two_bounds(void **state)
{
	(void)state;
	assert_rows(h.db,
		    "SELECT count(*), min(offset), max(offset) FROM record WHERE incarnation = 1 AND partition = 0 "
		    "AND offset > 10 AND offset >= 20 AND offset < 150 AND offset <= 120",
		    "101|20|120\n");
	assert_rows(h.db, "SELECT count(*) FROM record WHERE offset > 10 AND offset < 5", "0\n");
	assert_rows(h.db,
		    "SELECT offset FROM record WHERE incarnation = 1 AND partition = 0 AND (offset = 3 OR offset = 251 "
		    "OR offset = 3)",
		    "3\n251\n");
	assert_rows(h.db,
		    "SELECT offset FROM record WHERE incarnation = 1 AND partition = 0 AND ts >= 99000 AND ts < 101000",
		    "99\n100\n");
}

/* A partition and a range of offsets or times decode the chunks that hold them and no others. */
static void test_push_down(void **state)
{
#define PLACE " FROM record WHERE incarnation = 1 AND partition = 0 AND kind = 'committed' AND "
	(void)state;
	assert_int_equal(decoded_by("SELECT key FROM record"), 7);
	assert_int_equal(decoded_by("SELECT key" PLACE "offset = 150"), 1);
	assert_int_equal(decoded_by("SELECT key" PLACE "offset >= 100 AND offset < 200"), 1);
	assert_int_equal(decoded_by("SELECT key" PLACE "offset >= 99 AND offset < 101"), 2);
	assert_int_equal(decoded_by("SELECT key" PLACE "offset < 100"), 1);
	assert_int_equal(decoded_by("SELECT key" PLACE "offset > 299"), 0);
	assert_int_equal(decoded_by("SELECT key" PLACE "offset = NULL"), 0);
	assert_int_equal(decoded_by("SELECT key" PLACE "ts >= 100000 AND ts < 200000"), 1);
	assert_int_equal(decoded_by("SELECT key" PLACE "ts = 5"), 1);
	assert_int_equal(decoded_by("SELECT key" PLACE "ts > 299000"), 0);
	assert_int_equal(decoded_by("SELECT key FROM record WHERE topic = 'payments'"), 1);
	assert_int_equal(decoded_by("SELECT key FROM record WHERE topic = 'none'"), 0);
	assert_int_equal(decoded_by("SELECT key FROM record WHERE incarnation = 2"), 1);
	assert_int_equal(decoded_by("SELECT key FROM record WHERE kind = 'aborted'"), 1);
	assert_int_equal(decoded_by("SELECT key" PLACE "1 LIMIT 1"), 1);
#undef PLACE
}

/* Probes in rising order cost one decode per chunk, and the join runs record as the inner loop. */
static void test_probes(void **state)
{
	const char *join = "SELECT count(*), sum(r.offset) FROM probe AS p JOIN record AS r "
			   "ON r.incarnation = 1 AND r.partition = 0 AND r.kind = 'committed' AND r.offset = p.offset";

	(void)state;
	history_run(h.db, "CREATE TABLE probe (offset INTEGER PRIMARY KEY); WITH n (i) AS (SELECT 0 UNION ALL SELECT i "
			  "+ 1 FROM n LIMIT 300) "
			  "INSERT INTO probe SELECT i FROM n");
	assert_rows(h.db, join, "290|42305\n");
	assert_int_equal(decoded_by(join), 3);
}

static void test_damaged(void **state)
{
	const char *sql =
		"SELECT sum(offset) FROM record WHERE incarnation = 1 AND partition = 0 AND kind = 'committed'";

	(void)state;
	history_run(h.db, "UPDATE chunk SET data = CAST(substr(data, 1, 60) || x'ff' || substr(data, 62) AS BLOB) "
			  "WHERE incarnation_id = 1 AND partition = 0 AND first_offset = 100");
	assert_rows(h.db, sql,
		    "read: index in memory: chunk of incarnation 1, partition 0, first offset 100: the checksum does "
		    "not match "
		    "(SQLite code 1)");
	assert_rows(h.db, "SELECT count(*) FROM record WHERE incarnation = 1 AND partition = 0 AND offset < 100",
		    "100\n");
	history_run(h.db,
		    "UPDATE chunk SET data = x'' WHERE incarnation_id = 1 AND partition = 0 AND first_offset = 100");
	assert_rows(h.db, sql,
		    "read: index in memory: chunk of incarnation 1, partition 0, first offset 100: truncated: a chunk "
		    "of 0 bytes "
		    "(SQLite code 1)");
	history_run(h.db, "UPDATE chunk SET data = (SELECT data FROM chunk WHERE incarnation_id = 1 AND partition = 0 "
			  "AND first_offset = 0) "
			  "WHERE incarnation_id = 1 AND partition = 0 AND first_offset = 100");
	assert_rows(h.db, sql,
		    "read: index in memory: chunk of incarnation 1, partition 0, first offset 100: its row says other "
		    "offsets or "
		    "records than its data (SQLite code 1)");
}

static void test_scan(void **state)
{
	struct chunk_scan *scan = chunk_scan_new(h.db, CHUNK_KEY);
	struct chunk_place place = { 1, 0, CHUNK_COMMITTED };
	struct chunk_part part = { .view = NULL };
	struct trouble t;

	(void)state;
	chunk_scan_range(scan, place, 50, 255);
	assert_int_equal(chunk_scan_next(scan, &part, &t), 1);
	assert_int_equal(part.from, 50);
	assert_int_equal(part.to, 100);
	assert_memory_equal(part.view->key_bytes + part.view->key_at[50], "k50", 3);
	assert_null(part.view->timestamp_ms);
	assert_int_equal(chunk_scan_next(scan, &part, &t), 1);
	assert_int_equal(part.to - part.from, 100);
	assert_int_equal(chunk_scan_next(scan, &part, &t), 1);
	assert_int_equal(part.from, 0);
	assert_int_equal(part.to, 50);
	assert_int_equal(chunk_scan_next(scan, &part, &t), 0);
	assert_int_equal(chunk_scan_next(scan, &part, &t), 0);
	assert_int_equal(chunk_scan_decoded(scan), 3);
	chunk_scan_range(scan, place, 250, 260); /* a hole of the chunk in view */
	assert_int_equal(chunk_scan_next(scan, &part, &t), 0);
	chunk_scan_range(scan, place, 299, 1000);
	assert_int_equal(chunk_scan_next(scan, &part, &t), 1);
	assert_int_equal(chunk_scan_next(scan, &part, &t), 0);
	assert_int_equal(chunk_scan_decoded(scan), 3);
	chunk_scan_range(scan, place, 100, 100);
	assert_int_equal(chunk_scan_next(scan, &part, &t), 0);
	chunk_scan_range(scan, (struct chunk_place){ 9, 0, CHUNK_COMMITTED }, 0, INT64_MAX);
	assert_int_equal(chunk_scan_next(scan, &part, &t), 0);
	chunk_scan_free(scan);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)
	const struct CMUnitTest tests[] = {
		TEST(test_rows),    TEST(test_places),	   TEST(test_order),	 TEST(test_order_costs_nothing),
		TEST(test_bounds),  TEST(test_two_bounds), TEST(test_push_down), TEST(test_probes),
		TEST(test_damaged), TEST(test_scan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

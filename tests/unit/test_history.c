/* The sink of records: what it makes of values and headers, and when it seals. */
#include "fake_source.h"

#include "sql/chunk_scan.h"
#include "sql/writer.h"

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		bool is;
		int64_t number;
	} rows[] = {
		{ "0", true, 0 },
		{ "-0", true, 0 },
		{ "007", true, 7 },
		{ "-17", true, -17 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "-9223372036854775808", true, INT64_MIN },
		{ "9223372036854775808", false, 0 },
		{ "-9223372036854775809", false, 0 },
		{ "99999999999999999999", false, 0 },
		{ "", false, 0 },
		{ "-", false, 0 },
		{ "+1", false, 0 },
		{ " 1", false, 0 },
		{ "1 ", false, 0 },
		{ "1.0", false, 0 },
		{ "1e3", false, 0 },
		{ "0x10", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t number = 42;

		assert_int_equal(history_number(rows[i].text, (int64_t)strlen(rows[i].text), &number), rows[i].is);
		assert_int_equal(number, rows[i].is ? rows[i].number : 42);
	}
}

static void test_sources(void **state)
{
	static const struct {
		const char *text, *topic;
		int32_t partition;
		int64_t offset;
	} rows[] = {
		{ "orders/3/42", "orders", 3, 42 },
		{ "a/b/3/42", "a/b", 3, 42 },
		{ "//0/0", "/", 0, 0 },
		{ "o/2147483647/9223372036854775807", "o", INT32_MAX, INT64_MAX },
		{ "o/2147483648/1", NULL, 0, 0 },
		{ "o/-1/1", NULL, 0, 0 },
		{ "o/1/-1", NULL, 0, 0 },
		{ "o/1/", NULL, 0, 0 },
		{ "o//1", NULL, 0, 0 },
		{ "/1/1", NULL, 0, 0 },
		{ "1/1", NULL, 0, 0 },
		{ "orders", NULL, 0, 0 },
		{ "", NULL, 0, 0 },
		{ "o/1/1 ", NULL, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct record record = { 0 };

		assert_int_equal(history_source(rows[i].text, strlen(rows[i].text), &record), rows[i].topic != NULL);
		if (!rows[i].topic) {
			assert_null(record.source_topic);
			continue;
		}
		assert_int_equal(record.source_topic_size, strlen(rows[i].topic));
		assert_memory_equal(record.source_topic, rows[i].topic, strlen(rows[i].topic));
		assert_int_equal(record.source_partition, rows[i].partition);
		assert_int_equal(record.source_offset, rows[i].offset);
	}
}

/* --- sealing ----------------------------------------------------------------------------------------------------- */

enum { MANY = 200 };

struct sink {
	struct fake_source *s;
	struct replay_part parts[MANY];
	struct writer *writer;
	struct history *history;
	struct history_thread *thread;
};

static void sink_open(struct sink *k, int parts)
{
	struct trouble t = { 0 };

	k->s = fake_new(1);
	fake_open(k->s);
	for (int i = 0; i < parts; i++) {
		char *sql = xprintf("INSERT OR IGNORE INTO partition VALUES (1, %d, 0, 0, 0)", i);

		k->parts[i] =
			(struct replay_part){ .incarnation_id = 1, .topic = "orders", .partition = i, .end = 1 << 20 };
		assert_int_equal(db_script(k->s->db, sql, &t), 0);
		free(sql);
	}
	k->writer = writer_start(&k->s->run, k->s->db);
	k->history = history_new(&k->s->run, k->writer, k->parts, (size_t)parts);
	k->thread = history_enter(k->history);
}

static void sink_close(struct sink *k)
{
	struct trouble t = { 0 };

	history_leave(k->thread);
	assert_int_equal(writer_stop(k->writer, &t), 0);
	history_free(k->history);
}

static void add(struct sink *k, size_t part, int64_t offset, size_t key_size)
{
	char *key = xalloc(key_size + 1);
	struct raw_record raw = { .offset = offset,
				  .timestamp_ms = offset,
				  .key = memset(key, 'k', key_size),
				  .key_size = (int32_t)key_size,
				  .value_size = -1 };
	struct trouble t = { 0 };

	assert_int_equal(history_add(k->thread, part, &raw, &t), 0);
	free(key);
}

static void test_a_full_chunk_is_sealed(void **state)
{
	struct sink k = { 0 };

	(void)state;
	sink_open(&k, 1);
	for (int64_t i = 0; i < 2 * CHUNK_RECORDS_MAX + 5; i++)
		add(&k, 0, 3 * i, 4);
	assert_int_equal(history_records(k.history, 0), 2 * CHUNK_RECORDS_MAX + 5);
	assert_int_equal(history_end(k.thread, 0, 1 << 20), 0);
	sink_close(&k);
	assert_int_equal(fake_ask(k.s, "SELECT count(*) FROM chunk"), 3);
	assert_int_equal(fake_ask(k.s, "SELECT min(records) FROM chunk"), 5);
	assert_int_equal(fake_ask(k.s, "SELECT next_offset FROM partition"), 1 << 20);
	fake_free(k.s);
}

static void test_memory_is_bounded(void **state)
{
	struct sink k = { 0 };

	(void)state;
	sink_open(&k, MANY);
	for (int64_t i = 0; i < 200; i++)
		for (size_t part = 0; part < MANY; part++)
			add(&k, part, i, 8192);
	for (size_t part = 0; part < MANY; part++)
		assert_int_equal(history_end(k.thread, part, 200), 0);
	sink_close(&k);
	/* 328 MB of keys at 128 MiB. */
	assert_true(fake_ask(k.s, "SELECT count(*) FROM chunk") > MANY);
	assert_true(fake_ask(k.s, "SELECT count(*) FROM chunk") < 10 * MANY);
	assert_int_equal(fake_ask(k.s, "SELECT sum(records) FROM chunk"), 200 * MANY);
	assert_int_equal(fake_ask(k.s, "SELECT count(*) FROM partition WHERE next_offset = 200"), MANY);
	fake_free(k.s);
}

static void test_trimmed_holes_are_recorded(void **state)
{
	struct sink k = { 0 };

	(void)state;
	sink_open(&k, 1);
	add(&k, 0, 4, 4);
	assert_int_equal(history_trimmed(k.thread, 0, 9, 30), 0);
	add(&k, 0, 31, 4);
	assert_int_equal(history_end(k.thread, 0, 40), 0);
	sink_close(&k);
	assert_int_equal(fake_ask(k.s, "SELECT count(*) FROM chunk"), 2);
	assert_int_equal(fake_ask(k.s, "SELECT end_offset FROM gap_range WHERE class = 'trimmed' AND start_offset = 9"),
			 30);
	assert_int_equal(fake_ask(k.s, "SELECT next_offset FROM partition"), 40);
	fake_free(k.s);
}

static void test_a_refused_record_is_named(void **state)
{
	struct raw_record raw = { .offset = 5, .key_size = -1, .value_size = -1 };
	struct trouble t = { 0 };
	struct sink k = { 0 };

	(void)state;
	sink_open(&k, 1);
	add(&k, 0, 6, 4);
	assert_int_equal(history_add(k.thread, 0, &raw, &t), -1);
	assert_non_null(strstr(t.text, "orders/0: offset 5"));
	assert_int_equal(history_end(k.thread, 0, 7), 0);
	sink_close(&k);
	assert_int_equal(fake_ask(k.s, "SELECT sum(records) FROM chunk"), 1);
	fake_free(k.s);
}

/* Times are the producers' to choose: the least is no less a time than others, and NULL in no column. */
static void test_the_least_time_is_kept(void **state)
{
	const int64_t times[] = { INT64_MIN, 7, INT64_MAX, INT64_MIN };
	struct trouble t = { 0 };
	struct sink k = { 0 };
	struct record record;

	(void)state;
	sink_open(&k, 1);
	for (size_t i = 0; i < 4; i++) {
		const struct raw_record raw = {
			.offset = (int64_t)i, .timestamp_ms = times[i], .key = "k", .key_size = 1, .value_size = -1
		};

		assert_int_equal(history_add(k.thread, 0, &raw, &t), 0);
		history_record(&raw, false, &record);
		assert_true(record.timestamp_ms == (times[i] == INT64_MIN ? -INT64_MAX : times[i]));
	}
	assert_int_equal(history_end(k.thread, 0, 4), 0);
	sink_close(&k);
	assert_int_equal(fake_ask(k.s, "SELECT records FROM chunk"), 4);
	assert_true(fake_ask(k.s, "SELECT min_ms FROM chunk") == -INT64_MAX);
	assert_true(fake_ask(k.s, "SELECT max_ms FROM chunk") == INT64_MAX);
	fake_free(k.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_a_full_chunk_is_sealed),
		cmocka_unit_test(test_memory_is_bounded),
		cmocka_unit_test(test_trimmed_holes_are_recorded),
		cmocka_unit_test(test_a_refused_record_is_named),
		cmocka_unit_test(test_the_least_time_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

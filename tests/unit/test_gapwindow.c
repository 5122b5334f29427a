/* Holes: their arithmetic, and the second look at them. */
#include "fake_source.h"

#include "ingest/gapwindow.h"
#include "sql/chunk_scan.h"

/* "0-3 5-9" */
static struct ranges ranges_of(const char *text)
{
	struct ranges ranges = { 0 };
	long long start, end;
	int size;

	for (; sscanf(text, " %lld-%lld%n", &start, &end, &size) == 2; text += size)
		ranges_add(&ranges, start, end);
	return ranges;
}

static void assert_ranges(const struct ranges *ranges, const char *want)
{
	char text[512] = "";
	size_t at = 0;

	for (size_t i = 0; i < ranges->count; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%lld-%lld", i ? " " : "",
				       (long long)ranges->items[i].start, (long long)ranges->items[i].end);
	assert_string_equal(text, want);
}

static void test_merging(void **state)
{
	static const struct {
		const char *holes;
		int64_t merge;
		const char *windows;
	} rows[] = {
		{ "", 10, "" },
		{ "5-6", 10, "5-6" },
		{ "5-6 16-17", 10, "5-6 16-17" },
		{ "5-6 15-17", 10, "5-17" },
		{ "0-1 9-10 18-19 40-50", 10, "0-19 40-50" },
		{ "0-1 2-3", 0, "0-1 2-3" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ranges holes = ranges_of(rows[i].holes), windows = { 0 };

		gap_windows(&holes, rows[i].merge, &windows);
		assert_ranges(&windows, rows[i].windows);
		ranges_release(&holes);
		ranges_release(&windows);
	}
}

static void test_subtracting(void **state)
{
	static const struct {
		const char *holes, *without, *rest;
	} rows[] = {
		{ "", "1-2", "" },
		{ "1-9", "", "1-9" },
		{ "1-9", "1-9", "" },
		{ "1-9", "0-20", "" },
		{ "1-9", "3-5", "1-3 5-9" },
		{ "1-9", "0-2 4-5 8-30", "2-4 5-8" },
		{ "1-9 20-30", "5-25", "1-5 25-30" },
		{ "1-9 20-30", "9-20", "1-9 20-30" },
		{ "1-9", "2-6 3-4", "1-2 6-9" },
		{ "1-3 4-6 7-9", "2-8", "1-2 8-9" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ranges holes = ranges_of(rows[i].holes), without = ranges_of(rows[i].without), rest = { 0 };

		gap_subtract(&holes, &without, &rest);
		assert_ranges(&rest, rows[i].rest);
		ranges_release(&holes);
		ranges_release(&without);
		ranges_release(&rest);
	}
}

/* --- second looks ------------------------------------------------------------------------------------------------ */

/* A log of every kind of hole. */
static void fill(struct fake_source *s, int32_t partition, int64_t count, unsigned seed)
{
	for (int64_t i = 0; i < count; i++) {
		seed = seed * 1103515245 + 12345;
		switch (seed >> 16 & 7) {
		case 0: fake_put_marker(s, partition); break;
		case 1: fake_put_aborted(s, partition, (int)i); break;
		default: fake_put(s, partition, (int)(i % 50), (int)i);
		}
	}
	fake_put_aborted(s, partition, 1);
	fake_put_marker(s, partition);
}

/* The index has every record of the log once, under its kind. */
static void assert_whole(struct fake_source *s, int32_t partition)
{
	for (int kind = CHUNK_COMMITTED; kind <= CHUNK_ABORTED; kind++) {
		struct chunk_scan *scan = chunk_scan_new(s->db, CHUNK_OFFSET);
		const struct fake_log *log = &s->log[partition];
		struct chunk_part part;
		int64_t offset = 0;

		chunk_scan_range(scan, (struct chunk_place){ s->topic.incarnation_id, partition, kind }, 0, INT64_MAX);
		while (chunk_scan_next(scan, &part, NULL) > 0)
			for (size_t i = part.from; i < part.to; i++) {
				while (!log->at[offset].there || log->at[offset].aborted != (kind == CHUNK_ABORTED))
					offset++;
				assert_int_equal(part.view->offset[i], offset);
				offset++;
			}
		for (; offset < log->end; offset++)
			assert_false(log->at[offset].there && log->at[offset].aborted == (kind == CHUNK_ABORTED));
		chunk_scan_free(scan);
	}
	assert_true(s->topic.parts[partition].covered);
	assert_int_equal(s->topic.parts[partition].gap, s->log[partition].end);
}

static void test_aborted_records_are_found(void **state)
{
	struct fake_source *s = fake_new(3);

	(void)state;
	for (int32_t p = 0; p < 3; p++)
		fill(s, p, 20000, (unsigned)p);
	fake_run(s);
	for (int32_t p = 0; p < 3; p++)
		assert_whole(s, p);
	for (int32_t p = 0; p < 3; p++)
		fill(s, p, 3000, (unsigned)p + 9);
	s->log[0].read = 0;
	fake_run(s);
	for (int32_t p = 0; p < 3; p++)
		assert_whole(s, p);
	assert_true(s->log[0].read <= 3002);
	fake_free(s);
}

static int second_look(struct fake_source *s, const struct gap_limits *limits)
{
	struct trouble t = { 0 };

	return gapwindow_run(&s->run, &s->base, s->db, &s->topic, 1, limits, &t);
}

/* As a run without a second look leaves it. */
static void forget_look(struct fake_source *s)
{
	struct trouble t = { 0 };

	assert_int_equal(db_script(s->db,
				   "UPDATE partition SET gap_offset = first_offset; DELETE FROM chunk WHERE kind = 1;"
				   "DELETE FROM gap_range",
				   &t),
			 0);
	fake_open(s);
}

static void test_few_holes_at_a_time(void **state)
{
	const struct gap_limits few = { .merge = 3, .compacted = INT64_MAX, .holes = 1 };
	struct fake_source *s = fake_new(2);

	(void)state;
	fill(s, 0, 30000, 4);
	fill(s, 1, 30000, 5);
	fake_run(s);
	forget_look(s);
	assert_int_equal(second_look(s, &few), 0);
	fake_run(s);
	assert_whole(s, 0);
	assert_whole(s, 1);
	fake_free(s);
}

/* Wherever reading breaks off, going on gives the whole. */
static void test_looks_that_break_off(void **state)
{
	const struct gap_limits limits = { .merge = 3, .compacted = INT64_MAX, .holes = 1 << 20 };
	struct fake_source *s = fake_new(1);

	(void)state;
	fill(s, 0, 1500, 6);
	fake_run(s);
	for (int64_t fails = 0; fails < 1500; fails += 37) {
		forget_look(s);
		s->log[0].fails = fails;
		assert_int_equal(second_look(s, &limits), 0);
		assert_string_not_equal(s->topic.parts[0].trouble.text, "");
		s->log[0].fails = INT64_MAX;
		fake_run(s);
		assert_whole(s, 0);
	}
	fake_free(s);
}

static void test_a_compacted_topic_has_a_limit(void **state)
{
	const struct gap_limits limits = { .merge = 10, .compacted = 1000, .holes = 1 << 20 };
	struct fake_source *s = fake_new(1);

	(void)state;
	s->policy = "compact,delete";
	for (int i = 0; i < 5000; i++)
		if (i % 100 < 10)
			fake_put_aborted(s, 0, i);
		else
			fake_put(s, 0, i, i);
	fake_run(s);
	forget_look(s);
	s->log[0].read = 0;
	assert_int_equal(second_look(s, &limits), 0);
	assert_int_equal(s->log[0].read, 500);
	assert_int_equal(fake_ask(s, "SELECT sum(records) FROM chunk WHERE kind = 1"), 500);
	assert_int_equal(s->topic.parts[0].gap, 5000);
	s->log[0].read = 0;
	assert_int_equal(second_look(s, &limits), 0);
	assert_int_equal(s->log[0].read, 0);
	fake_free(s);
	/* 50 holes of 10: all within the limit; a limit of 255 leaves the last 25 unknown, for ever. */
	s = fake_new(1);
	s->policy = "compact";
	for (int i = 0; i < 5000; i++)
		if (i % 100 < 10)
			fake_put_aborted(s, 0, i);
		else
			fake_put(s, 0, i, i);
	fake_run(s);
	forget_look(s);
	assert_int_equal(second_look(s, &(struct gap_limits){ .merge = 10, .compacted = 255, .holes = 1 << 20 }), 0);
	assert_int_equal(fake_ask(s, "SELECT sum(records) FROM chunk WHERE kind = 1"), 250);
	assert_int_equal(fake_ask(s, "SELECT sum(end_offset - start_offset) FROM gap_range WHERE class = 'unknown'"),
			 250);
	assert_int_equal(fake_ask(s, "SELECT min(start_offset) FROM gap_range WHERE class = 'unknown'"), 2500);
	assert_int_equal(fake_ask(s, "SELECT gap_offset FROM partition"), 5000);
	fake_free(s);
}

static void test_holes_below_the_log_start_stay_unknown(void **state)
{
	struct fake_source *s = fake_new(1);

	(void)state;
	for (int i = 0; i < 100; i++)
		if (i % 10 == 5)
			fake_put_aborted(s, 0, i);
		else
			fake_put(s, 0, i, i);
	fake_run(s);
	s->log[0].log_start = 48;
	forget_look(s);
	assert_int_equal(second_look(s, &GAP_LIMITS), 0);
	assert_int_equal(fake_ask(s, "SELECT count(*) FROM gap_range WHERE class = 'unknown'"), 5);
	assert_int_equal(fake_ask(s, "SELECT sum(records) FROM chunk WHERE kind = 1"), 5);
	assert_int_equal(s->topic.parts[0].gap, 100);
	fake_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merging),
		cmocka_unit_test(test_subtracting),
		cmocka_unit_test(test_aborted_records_are_found),
		cmocka_unit_test(test_few_holes_at_a_time),
		cmocka_unit_test(test_looks_that_break_off),
		cmocka_unit_test(test_a_compacted_topic_has_a_limit),
		cmocka_unit_test(test_holes_below_the_log_start_stay_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Incarnations and anchors: what is the same history, and where another one begins. */
#include "fake_source.h"

#include "sql/chunk_scan.h"

static void fill(struct fake_source *s, int32_t partition, int64_t end)
{
	while (s->log[partition].end < end)
		fake_put(s, partition, (int)(s->log[partition].end % 7), (int)s->log[partition].end);
}

/* The current incarnation holds what the log shows, and may hold what the log has lost. */
static void assert_contains_log(struct fake_source *s, int32_t partition)
{
	unsigned columns = CHUNK_OFFSET | CHUNK_KEY | CHUNK_VALUE_HASH;
	struct chunk_scan *scan = chunk_scan_new(s->db, columns);
	const struct fake_log *log = &s->log[partition];
	struct chunk_part part;
	char bytes[64];
	int64_t offset = log->log_start;

	chunk_scan_range(scan, (struct chunk_place){ s->topic.incarnation_id, partition, CHUNK_COMMITTED }, 0,
			 INT64_MAX);
	while (chunk_scan_next(scan, &part, NULL) > 0)
		for (size_t i = part.from; i < part.to; i++) {
			struct raw_record raw;
			struct record record;

			assert_true(part.view->offset[i] < log->end);
			if (part.view->offset[i] < log->log_start || !log->at[part.view->offset[i]].there)
				continue;
			while (!log->at[offset].there)
				offset++;
			assert_int_equal(part.view->offset[i], offset);
			raw = fake_raw(log, offset, bytes, sizeof(bytes));
			history_record(&raw, false, &record);
			assert_int_equal(part.view->value_hash[i], record.value_hash);
			offset++;
		}
	while (offset < log->end)
		assert_false(log->at[offset++].there);
	chunk_scan_free(scan);
	assert_true(s->topic.parts[partition].covered);
}

static void test_going_on(void **state)
{
	struct fake_source *s = fake_new(2);

	(void)state;
	fill(s, 0, 100);
	fake_run(s);
	fill(s, 0, 40000);
	fill(s, 1, 1);
	fake_run(s);
	assert_int_equal(s->topic.parts[0].records, 39900);
	assert_int_equal(s->topic.incarnation_id, 1);
	assert_contains_log(s, 0);
	assert_contains_log(s, 1);
	s->probes = 0;
	fake_run(s);
	assert_int_equal(s->probes, 3);
	assert_int_equal(s->topic.parts[0].records, 0);
	assert_int_equal(fake_ask(s, "SELECT count(*) FROM rewrite"), 0);
	fake_free(s);
}

static void test_records_that_are_gone_are_neutral(void **state)
{
	struct fake_source *s = fake_new(1);

	(void)state;
	s->policy = "compact";
	fill(s, 0, 5000);
	fake_run(s);
	for (int64_t i = 0; i < 5000; i++)
		s->log[0].at[i].there = i % 1000 == 3;
	fill(s, 0, 5010);
	s->probes = 0;
	fake_run(s);
	assert_int_equal(s->topic.incarnation_id, 1);
	assert_true(s->probes < 15);
	assert_contains_log(s, 0);
	for (int64_t i = 0; i < 5010; i++)
		s->log[0].at[i].there = false;
	fake_run(s);
	assert_int_equal(fake_ask(s, "SELECT count(*) FROM rewrite"), 0);
	assert_int_equal(fake_ask(s, "SELECT sum(records) FROM chunk"), 5010);
	s->policy = "delete";
	fake_run(s);
	assert_int_equal(fake_ask(s, "SELECT compacted FROM incarnation"), 1);
	assert_int_equal(fake_ask(s, "SELECT policy_unknown FROM incarnation"), 0);
	fake_free(s);
}

/* Every place of divergence is found exactly, with records gone on either side. */
static void test_divergence_is_bisected(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (int64_t cut = 0; cut < 2000; cut += 1 + cut / 3) {
		struct fake_source *s = fake_new(2);
		int64_t first = cut;

		fill(s, 0, 2000);
		fill(s, 1, 500);
		fake_run(s);
		fake_replace(s, 0, cut, 2500, -1);
		for (int64_t i = 0; i < 2500; i++) {
			seed = seed * 1103515245 + 12345;
			s->log[0].at[i].there = seed >> 16 & 3;
		}
		while (!s->log[0].at[first].there)
			first++;
		fake_run(s);
		assert_int_equal(fake_ask(s, "SELECT count(*) FROM rewrite"), 1);
		assert_int_equal(fake_ask(s, "SELECT offset FROM rewrite WHERE kind = 'differs' AND partition = 0"),
				 first);
		assert_int_equal(s->topic.incarnation_id, 2);
		assert_true(s->topic.rewritten);
		assert_int_equal(fake_ask(s, "SELECT ended_run FROM incarnation WHERE incarnation_id = 1"), 2);
		assert_contains_log(s, 0);
		assert_contains_log(s, 1);
		assert_int_equal(s->topic.parts[1].records, 0);
		fake_run(s);
		assert_int_equal(fake_ask(s, "SELECT count(*) FROM incarnation"), 2);
		fake_free(s);
	}
}

static void test_the_cut_keeps_everything_of_a_record(void **state)
{
	struct fake_source *s = fake_new(1);
	struct trouble t = { 0 };

	(void)state;
	for (int i = 0; i < 300; i++)
		if (i % 3)
			fake_put(s, 0, i, i);
		else
			fake_put_aborted(s, 0, i);
	fake_open(s);
	s->topic.numbers = true;
	assert_int_equal(replay_run(&s->run, &s->base, s->db, &s->topic, 1, &t), 0);
	fake_replace(s, 0, 200, 260, -5);
	fake_run(s);
	assert_int_equal(fake_ask(s, "SELECT sum(records) FROM chunk WHERE incarnation_id = 2 AND kind = 1"), 67);
	assert_int_equal(fake_ask(s, "SELECT sum(records) FROM chunk WHERE incarnation_id = 2 AND kind = 0"), 133 + 60);
	assert_int_equal(fake_ask(s, "SELECT sum(records) FROM chunk WHERE incarnation_id = 1"), 300);
	assert_int_equal(fake_ask(s, "SELECT max(end_offset) FROM chunk WHERE incarnation_id = 2 AND kind = 1"), 199);
	fake_free(s);
}

static void test_a_record_in_a_hole_is_another_history(void **state)
{
	struct fake_source *s = fake_new(1);

	(void)state;
	fill(s, 0, 50);
	fake_put_marker(s, 0);
	fake_run(s);
	s->log[0].at[50] = (struct fake_record){ .there = true, .key = 1, .value = 1 };
	fake_run(s);
	assert_int_equal(fake_ask(s, "SELECT offset FROM rewrite WHERE kind = 'differs'"), 50);
	assert_int_equal(fake_ask(s, "SELECT json_extract(evidence, '$.read.offset') FROM rewrite"), 50);
	assert_int_equal(fake_ask(s, "SELECT json_extract(evidence, '$.indexed') IS NULL FROM rewrite"), 1);
	assert_contains_log(s, 0);
	fake_free(s);
}

static void test_the_end_fell(void **state)
{
	struct fake_source *s = fake_new(2);

	(void)state;
	fill(s, 0, 100);
	fill(s, 1, 100);
	fake_run(s);
	s->log[0].end = 60;
	s->log[1].end = s->log[1].log_start = 0;
	fake_run(s);
	assert_int_equal(fake_ask(s, "SELECT offset FROM rewrite WHERE kind = 'fell' AND partition = 0"), 60);
	assert_int_equal(fake_ask(s, "SELECT offset FROM rewrite WHERE kind = 'fell' AND partition = 1"), 0);
	assert_int_equal(
		fake_ask(s, "SELECT json_extract(evidence, '$.indexed.offset') FROM rewrite WHERE partition = 0"), 60);
	assert_contains_log(s, 0);
	assert_contains_log(s, 1);
	fill(s, 0, 80);
	fake_run(s);
	assert_contains_log(s, 0);
	assert_int_equal(fake_ask(s, "SELECT count(*) FROM incarnation"), 2);
	fake_free(s);
}

static void test_fewer_partitions(void **state)
{
	struct fake_source *s = fake_new(3);

	(void)state;
	for (int32_t p = 0; p < 3; p++)
		fill(s, p, 10);
	fake_run(s);
	s->partitions = 1;
	fake_run(s);
	assert_int_equal(
		fake_ask(s, "SELECT group_concat(partition) = '1,2' FROM rewrite WHERE kind = 'fell' AND offset = 0"),
		1);
	assert_int_equal(fake_ask(s, "SELECT count(*) FROM partition WHERE incarnation_id = 2"), 1);
	assert_contains_log(s, 0);
	fake_free(s);
}

static void test_trimmed_before_it_was_indexed(void **state)
{
	struct fake_source *s = fake_new(1);

	(void)state;
	fill(s, 0, 100);
	fake_run(s);
	fill(s, 0, 300);
	s->log[0].log_start = 150;
	fake_run(s);
	assert_int_equal(fake_ask(s, "SELECT start_offset FROM gap_range WHERE class = 'trimmed' AND end_offset = 150"),
			 100);
	assert_int_equal(fake_ask(s, "SELECT count(*) FROM gap_range"), 1);
	assert_int_equal(fake_ask(s, "SELECT sum(records) FROM chunk"), 250);
	assert_int_equal(fake_ask(s, "SELECT gap_offset FROM partition"), 300);
	assert_int_equal(fake_ask(s, "SELECT count(*) FROM rewrite"), 0);
	fake_free(s);
}

/* A replay that breaks off anywhere goes on where it stopped. */
static void test_breaking_off(void **state)
{
	struct fake_source *s = fake_new(1);

	(void)state;
	fill(s, 0, 20000);
	for (int64_t fails = 0; fails < 20000; fails += 3333) {
		s->log[0].fails = fails;
		fake_run(s);
		assert_int_equal(s->topic.parts[0].next, fails);
		assert_false(s->topic.parts[0].covered);
	}
	s->log[0].fails = INT64_MAX;
	fake_run(s);
	assert_contains_log(s, 0);
	assert_int_equal(fake_ask(s, "SELECT sum(records) FROM chunk"), 20000);
	fake_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_going_on),
		cmocka_unit_test(test_records_that_are_gone_are_neutral),
		cmocka_unit_test(test_divergence_is_bisected),
		cmocka_unit_test(test_the_cut_keeps_everything_of_a_record),
		cmocka_unit_test(test_a_record_in_a_hole_is_another_history),
		cmocka_unit_test(test_the_end_fell),
		cmocka_unit_test(test_fewer_partitions),
		cmocka_unit_test(test_trimmed_before_it_was_indexed),
		cmocka_unit_test(test_breaking_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What stands in findings and results: evidence, ids that stay the same from run to run, statuses, exact totals. */
#include "check_said.h"

static void test_evidence(void **state)
{
	struct fixture fx;

	(void)state;
	run_world(&fx, plain, fence_set_back);
	assert_text(&fx, "SELECT evidence FROM finding",
		    "{\"kind\":\"offset\",\"fence\":{\"partition\":0,\"offset\":3},\"expected\":{\"partition\":0,"
		    "\"offset\":12},\"lost\":3,"
		    "\"first_lost\":{\"offset\":6,\"time\":\"1970-01-01T00:00:02.000Z\",\"time_ms\":2000},"
		    "\"last_lost\":{\"offset\":12,\"time\":\"1970-01-01T00:00:04.000Z\",\"time_ms\":4000},"
		    "\"recheckable\":true}");
	assert_text(&fx, "SELECT hex(redis_key) FROM finding", "73746174653A6B33"); /* state:k3 */
	assert_text(&fx, "SELECT remedy FROM finding",
		    "Redis lost writes that the pipeline had committed. Stop the workers of the partition, and replay "
		    "the key's records from the first "
		    "lost one; the fence lets through exactly those.");
	fixture_close(&fx);
	run_world(&fx, plain, wrong_partition);
	assert_text(&fx, "SELECT id FROM finding WHERE name = 'copartition-cause'", "75861db239f90852560222ee53e2dea6");
	assert_text(&fx, "SELECT evidence FROM finding WHERE name = 'copartition-break'",
		    "{\"home\":0,\"partitions\":4,\"records\":2,\"first\":{\"offset\":15,\"time\":\"1970-01-01T00:00:"
		    "09.000Z\",\"time_ms\":9000},"
		    "\"last\":{\"offset\":16,\"time\":\"1970-01-01T00:00:09.100Z\",\"time_ms\":9100},"
		    "\"cause\":\"75861db239f90852560222ee53e2dea6\",\"recheckable\":"
		    "true}");
	fixture_close(&fx);
	run_world(&fx, resized, nothing);
	assert_text(
		&fx, "SELECT evidence FROM finding WHERE partition = 5",
		"{\"fence\":{\"partition\":5,\"offset\":1},\"home\":5,\"done\":true,\"rebases\":1,\"order\":\"record "
		"times\",\"sequence\":[{\"partition\":1,\"offset\":3,\"time_ms\":400,\"verdict\":\"APPLY\"},"
		"{\"partition\":5,\"offset\":0,\"time_ms\":500,\"verdict\":\"REBASE\"}],\"partitions\":["
		"{\"partition\":1,\"records\":2,\"first_offset\":1,\"last_offset\":3,\"first_ms\":200,\"last_ms\":400},"
		"{\"partition\":5,\"records\":2,\"first_offset\":0,\"last_offset\":1,\"first_ms\":500,\"last_ms\":600}]"
		"}");
	fixture_close(&fx);
	run_world(&fx, aborted, fence_on_marker);
	fixture_close(&fx);
	run_world(&fx, plain, fence_on_other_record);
	assert_text(&fx,
		    "SELECT json_extract(evidence, '$.record.key') = (SELECT key_utf8(key) FROM record WHERE partition "
		    "= 1 AND offset = 13) FROM finding",
		    "1");
	fixture_close(&fx);
}

/* A finding is the same one in the next run, and another one where another offset matters. */
static void test_ids(void **state)
{
	struct world *w = world_new();
	struct fixture fx;

	(void)state;
	name_keys();
	plain(w);
	fence_set_back(w);
	fixture_open(&fx);
	fixture_add(&fx, w);
	analyze(&fx);
	fixture_add(&fx, w);
	analyze(&fx);
	assert_text(&fx, "SELECT count(*) || ' ' || count(DISTINCT id) || ' ' || max(length(id)) FROM finding",
		    "2 1 32");
	world_set(w, A, 0, 6);
	fixture_add(&fx, w);
	analyze(&fx);
	assert_text(&fx, "SELECT count(*) || ' ' || count(DISTINCT id) FROM finding", "3 2");
	fixture_close(&fx);
	world_free(w);
}

static void test_results(void **state)
{
	struct fixture fx;

	(void)state;
	run_world(&fx, plain, fence_set_back);
	assert_text(&fx,
		    "SELECT group_concat(name || ' ' || status || ' ' || examined || ' ' || findings, x'0a') FROM "
		    "(SELECT * FROM check_result WHERE name NOT LIKE 'redis-%' ORDER BY ordinal)",
		    "fence-malformed pass 12 0\nfence-orphan pass 12 0\nfence-ahead pass 12 0\nfence-missing pass 12 "
		    "0\nfence-regressed fail 12 1\n"
		    "fence-undeleted skip 0 0\nfence-phantom pass 11 0\nfence-aborted pass 11 0\nfence-off-home pass "
		    "11 0\nfence-value skip 0 0\n"
		    "fence-count skip 0 0\nfence-rebased pass 11 0\nfence-expiring pass 12 0\n"
		    "copartition-cause pass 12 0\ncopartition-break pass "
		    "12 0\ncopartition-count skip 0 0\n"
		    "copartition-split skip 0 0\nkey-hot empty 0 0\ntopic-resized pass 1 0\nepoch-malformed skip 0 0\nepoch-missing skip 0 0\nepoch-regressed "
		    "skip 0 0\ncommit-missing pass 4 0\n"
		    "commit-regressed empty 0 0\ncommit-below-log pass 4 0\ncommit-beyond-log pass 4 "
		    "0\nhistory-rewritten empty 0 0\nlso-stuck pass 4 0");
	assert_text(&fx, "SELECT reached FROM run", "checked");
	assert_text(&fx, "SELECT group_concat(verdict || ' ' || records) FROM verdict_count",
		    "APPLY 60,DLQ 0,REBASE 0,ignored 0,unsampled 0");
	fixture_close(&fx);
	run_world(&fx, broken_mapping, nothing);
	assert_text(&fx, "SELECT group_concat(DISTINCT status) FROM check_result WHERE name LIKE 'fence-%'", "skip");
	fixture_close(&fx);
	run_world(&fx, resized, nothing);
	assert_text(&fx, "SELECT group_concat(verdict || ' ' || records) FROM verdict_count", "APPLY 5,DLQ 0,REBASE 1,ignored 0,unsampled 0");
	fixture_close(&fx);
}

/* Every fault of a fence there is, each on a key of its own. */
static void every_fault(struct world *w)
{
	struct world_topic *t = &w->topic[0];
	const char *stranger = key_homed(2, 4, 41);

	w->pipeline.state = "count";
	deletes(w);
	world_put_in(t, 3, S, 7000);
	world_put(w, key_homed(3, 4, 1), 8000)->aborted = true;
	world_settle(w);
	world_fence_of(w, key_homed(0, 4, 1))->fact.malformed = "offset is not-decimal";
	world_set(w, stranger, 2, 3);
	world_set(w, D, 3, 99);
	world_absent(w, C);
	world_set(w, key_homed(1, 4, 1), 1, 10);
	world_set(w, A, 0, 12)->fact.value_number = 5;
	world_set(w, key_homed(1, 4, 2), 1, 16);
	world_set(w, key_homed(3, 4, 1), 3, 16);
	world_set(w, S, 3, 15);
	world_fence_of(w, key_homed(0, 4, 2))->fact.value_number++;
}

/* One fault makes one finding, and takes the key from what later checks examine. */
static void test_one_fault_makes_one_finding(void **state)
{
	struct fixture fx;

	(void)state;
	run_world(&fx, every_fault, nothing);
	assert_text(&fx,
		    "SELECT group_concat(name || ' ' || examined || ' ' || findings, x'0a') FROM "
		    "(SELECT * FROM check_result WHERE name LIKE 'fence-%' ORDER BY ordinal)",
		    "fence-malformed 13 1\nfence-orphan 12 1\nfence-ahead 11 1\nfence-missing 11 1\nfence-regressed 10 "
		    "1\nfence-undeleted 9 1\nfence-phantom 8 1\nfence-aborted 7 1\nfence-off-home 6 1\nfence-value 0 "
		    "0\nfence-count 5 1\nfence-rebased 4 0\nfence-expiring 12 0");
	fixture_close(&fx);
}

static void all_set_back(struct world *w)
{
	for (int p = 0; p < 4; p++)
		for (int i = 0; i < 3; i++)
			world_set(w, key_homed(p, 4, i), p, i);
	w->max_findings = "5";
}

/* Totals are exact where fewer findings are kept. */
static void test_most_findings(void **state)
{
	struct fixture fx;

	(void)state;
	run_world(&fx, plain, all_set_back);
	assert_text(&fx, "SELECT findings || ' ' || kept FROM check_result WHERE name = 'fence-regressed'", "12 5");
	assert_text(&fx, "SELECT count(*) || ' ' || min(ordinal) || ' ' || max(ordinal) FROM finding", "5 0 4");
	fixture_close(&fx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_evidence),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_one_fault_makes_one_finding),
		cmocka_unit_test(test_most_findings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

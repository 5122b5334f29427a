/*
 * The fold against a naive model: random small histories and fences, and for every key the same answers worked out the
 * slow way, record by record from the description of the world. Seeds are fixed; a failure names its own.
 */
#include "analyzer/fold.h"

#include "fold_model.h"

enum { WORLDS = 400 };

static const char FENCE_STATE[] =
	"SELECT * FROM (SELECT coalesce(fence.key, unlooked_key.key), home, records, legal_partitions, rebases, "
	"newest_ms, unproven, elsewhere, fence_legal, at_fence, fence_ms, "
	"fence_tombstone, home_records, home_offset, home_ms, home_lost, home_lost_first, home_lost_first_ms, "
	"home_tombstone, home_tombstone_any, "
	"older, older_offset, older_ms, older_unsure, older_lost, older_lost_first, older_lost_first_ms, "
	"older_tombstone, applied, applied_sum, "
	"s.value_hash, rejected FROM fence_state AS s LEFT JOIN fence ON fence_id = state_id LEFT JOIN unlooked_key USING "
	"(state_id)) ORDER BY 1";

/* All rows as lines, columns apart by spaces, NULL "-", blobs in quotes. The caller frees. */
static char *lines_of(struct fixture *fx, const char *sql)
{
	struct trouble t = { 0 };
	char *all = xstrdup("");
	sqlite3_stmt *stmt;
	int more;

	must(db_prepare(fx->db, sql, &stmt, &t), &t);
	while ((more = db_step(stmt, &t)) > 0) {
		for (int i = 0; i < sqlite3_column_count(stmt); i++) {
			int type = sqlite3_column_type(stmt, i), size = sqlite3_column_bytes(stmt, i);
			const char *text = type == SQLITE_NULL ? "-" : (const char *)sqlite3_column_text(stmt, i);
			const char *quote = type == SQLITE_BLOB ? "'" : "";
			char *longer = xprintf("%s%s%s%.*s%s", all, i ? " " : "", quote, type == SQLITE_NULL ? 1 : size,
					       text ? text : "", quote);

			free(all);
			all = longer;
		}
		char *longer = xprintf("%s\n", all);

		free(all);
		all = longer;
	}
	must(more, &t);
	sqlite3_finalize(stmt);
	return all;
}

static void fold(struct fixture *fx)
{
	struct trouble t = { 0 };

	must(db_begin(fx->db, &t), &t);
	must(fold_run(&fx->run, fx->db, &t), &t);
	must(db_commit(fx->db, &t), &t);
}

static bool in_world(const struct model *m, const char *key)
{
	for (size_t i = 0; i < m->t->records; i++)
		if (is_key(&m->t->record[i], key) && !m->t->record[i].aborted)
			return true;
	return world_fence_of((struct world *)(uintptr_t)m->w, key) != NULL;
}

static int compare_words(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The model's lines in the order of keys. The caller frees. */
static char *model_lines(const struct model *m)
{
	const char *keys[KEYS];
	char *all = xstrdup("");

	memcpy(keys, key_names, sizeof(keys));
	qsort(keys, KEYS, sizeof(*keys), compare_words);
	for (int i = 0; i < KEYS; i++) {
		char line[TEXT], *longer;

		if (!in_world(m, keys[i]))
			continue;
		say_key(m, keys[i], line);
		longer = xprintf("%s%s\n", all, line);
		free(all);
		all = longer;
	}
	return all;
}

/* Records and keys by partition, home and legality, as lines. The caller frees. */
static char *model_placement(const struct model *m)
{
	char *all = xstrdup("");

	for (int32_t p = 0; p < m->t->partitions; p++)
		for (int32_t home = 0; home < m->t->partitions; home++)
			for (int kind = 0; kind < 3; kind++) {
				int64_t records = 0, keys = 0;

				for (int k = 0; k < KEYS; k++) {
					int64_t of_key = 0;

					for (size_t i = 0; i < m->t->records; i++)
						of_key += is_key(&m->t->record[i], key_names[k]) &&
							  !m->t->record[i].aborted && m->t->record[i].partition == p &&
							  model_home(m, key_names[k], m->counts[0]) == home &&
							  legal(m, key_names[k], p) == kind;
					records += of_key;
					keys += of_key > 0;
				}
				if (records) {
					char *longer = xprintf("%s%d %d %d %lld %lld\n", all, (int)p, (int)home, kind,
							       (long long)records, (long long)keys);

					free(all);
					all = longer;
				}
			}
	return all;
}

/* Per partition, what stands off home, as lines. The caller frees. */
static char *model_off_home(const struct model *m)
{
	char *all = xstrdup("");

	for (int32_t p = 0; p < m->t->partitions; p++) {
		int64_t homeless = 0, n = 0, first = UNKNOWN, first_ms = UNKNOWN, last = UNKNOWN, last_ms = UNKNOWN,
			others = 0, between = 0;
		char line[TEXT] = "", *longer;

		for (size_t i = 0; i < m->t->records; i++) {
			const struct world_record *r = &m->t->record[i];

			if (r->partition != p || !r->key || r->aborted)
				continue;
			if (model_home(m, r->key, m->counts[0]) < 0) {
				homeless++;
			} else if (legal(m, r->key, p)) {
				others += n > 0;
			} else {
				if (n++ == 0) {
					first = r->offset;
					first_ms = r->ms;
				}
				last = r->offset;
				last_ms = r->ms;
				between = others;
			}
		}
		for (int c = 0; c < 8; c++)
			say(line, (const int64_t[]){ p, homeless, n, first, first_ms, last, last_ms, between }[c]);
		longer = xprintf("%s%s\n", all, line + 1);
		free(all);
		all = longer;
	}
	return all;
}

/* What becomes of each record with a key, as lines. The caller frees. */
static char *model_verdicts(const struct model *m)
{
	int64_t apply = 0, dlq = 0, ignored = 0, rebase = 0;

	for (size_t i = 0; i < m->t->records; i++) {
		const struct world_record *r = &m->t->record[i];

		if (!r->key || r->aborted)
			continue;
		if (!legal(m, r->key, r->partition) || rejected(m, r))
			dlq++;
		else if (r->tombstone && m->ignores)
			ignored++;
		else
			apply++;
	}
	for (int k = 0; k < KEYS; k++)
		rebase += count_changes(m, key_names[k]);
	return xprintf("APPLY %lld\nDLQ %lld\nREBASE %lld\nignored %lld\nunsampled 0\n", (long long)(apply - rebase),
		       (long long)dlq, (long long)rebase, (long long)ignored);
}

static void first_difference(const char *what, uint64_t seed, const char *got, const char *want)
{
	while (*got && *got == *want && strchr(want, '\n') && strncmp(got, want, strcspn(want, "\n") + 1) == 0) {
		got += strcspn(got, "\n") + 1;
		want += strcspn(want, "\n") + 1;
	}
	fail_msg("%s of seed %llu:\nfold:  %.*s\nmodel: %.*s", what, (unsigned long long)seed, (int)strcspn(got, "\n"),
		 got, (int)strcspn(want, "\n"), want);
}

static void same(const char *what, uint64_t seed, char *got, char *want)
{
	if (strcmp(got, want) != 0)
		first_difference(what, seed, got, want);
	free(got);
	free(want);
}

static void test_random_worlds(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= WORLDS; seed++) {
		struct random r = { seed };
		int32_t counts[2];
		struct world *w = random_world(&r, counts);
		struct model m = model_of(w, counts);
		struct fixture fx;

		fixture_open(&fx);
		fixture_add(&fx, w);
		fold(&fx);
		same("fence_state", seed, lines_of(&fx, FENCE_STATE), model_lines(&m));
		same("placement", seed,
		     lines_of(&fx, "SELECT partition, home, legal, records, keys FROM placement "
				   "WHERE topic_id = (SELECT topic_id FROM topic WHERE role = 'source') "
				   "ORDER BY partition, home, legal"),
		     model_placement(&m));
		same("off home", seed,
		     lines_of(&fx, "SELECT partition, homeless, off_home, off_home_first, off_home_first_ms, off_home_last, "
				   "off_home_last_ms, legal_between FROM partition_state ORDER BY partition"),
		     model_off_home(&m));
		same("verdicts", seed,
		     lines_of(&fx, "SELECT verdict, records FROM verdict_count ORDER BY verdict"), model_verdicts(&m));
		/* Two steps a change at most, 16 a key. */
		assert_int_equal(FIXTURE_SQL(&fx,
					     "SELECT count(*) FROM fence_state AS s WHERE rebases <= 8 * ?1 AND rebases <> "
					     "(SELECT count(*) FROM rebase_step WHERE state_id = s.state_id AND verdict = "
					     "'REBASE')",
					     1),
				 0);
		/* Sums that must agree, whatever the world. */
		assert_int_equal(FIXTURE_SQL(&fx,
					     "SELECT (SELECT total(records) FROM key_history) - (SELECT total(records) "
					     "FROM placement) - (SELECT total(homeless) FROM partition_state) WHERE ?1",
					     1),
				 0);
		assert_int_equal(FIXTURE_SQL(&fx,
					     "SELECT (SELECT total(keys) FROM placement WHERE legal = 0) - (SELECT "
					     "count(*) FROM off_home_key) WHERE ?1",
					     1),
				 0);
		fixture_close(&fx);
		world_free(w);
	}
}

enum { MANY = 12000 };

static struct world *many_keys(void)
{
	struct world *w = world_new();

	w->topic[0].partitions = w->topic[0].fact.partitions = w->topic[0].fact.partitions_at_start = 1;
	w->topic[0].fact.main_keys = 4000;
	for (int i = 0; i < MANY; i++)
		world_put_in(&w->topic[0], 0, xprintf("user-%d", i), i);
	w->topic[0].part[0].committed = MANY;
	for (int i = 0; i < 4000; i++)
		world_set(w, w->topic[0].record[i].key, 0, i);
	return w;
}

static void many_free(struct world *w)
{
	for (int i = 0; i < MANY; i++)
		free((void *)(uintptr_t)w->topic[0].record[i].key);
	world_free(w);
}

/*
 * The fold of a sample that does not fit says how much of it was looked at; what it counts of all records stays exact.
 */
static void test_memory(void **state)
{
	struct world *w = many_keys();
	struct fixture fx;
	int64_t threshold, kept;

	(void)state;
	fixture_open(&fx);
	fixture_add(&fx, w);
	fx.run.memory = 1;
	fold(&fx);
	threshold = FIXTURE_SQL(&fx, "SELECT main_threshold FROM topic WHERE ?1", 1);
	kept = FIXTURE_SQL(&fx, "SELECT count(*) FROM fence_state WHERE ?1", 1);
	assert_true(threshold < INT64_MAX);
	assert_true(kept > 0 && kept < MANY);
	assert_int_equal(FIXTURE_SQL(&fx, "SELECT threshold FROM topic_state WHERE ?1", 1), threshold);
	assert_int_equal(
		FIXTURE_SQL(&fx, "SELECT count(*) FROM fence_state JOIN fence ON fence_id = state_id WHERE hash >= ?1",
			    threshold),
		0);
	assert_int_equal(FIXTURE_SQL(&fx, "SELECT main_keys FROM topic WHERE ?1", 1),
			 FIXTURE_SQL(&fx, "SELECT count(*) FROM fence WHERE hash < ?1", threshold));
	assert_int_equal(FIXTURE_SQL(&fx, "SELECT records FROM placement WHERE ?1", 1), MANY);
	assert_int_equal(FIXTURE_SQL(&fx, "SELECT keys FROM placement WHERE ?1", 1), MANY);
	fixture_close(&fx);
	many_free(w);
}

/* The same fold again leaves the same rows; a later run of the pipeline replaces them. */
static void test_again(void **state)
{
	struct random r = { 7 };
	int32_t counts[2];
	struct world *w = random_world(&r, counts);
	struct fixture fx;
	char *first, *second;

	(void)state;
	fixture_open(&fx);
	fixture_add(&fx, w);
	fold(&fx);
	first = lines_of(&fx, "SELECT * FROM fence_state ORDER BY state_id");
	fold(&fx);
	second = lines_of(&fx, "SELECT * FROM fence_state ORDER BY state_id");
	assert_string_equal(first, second);
	free(first);
	free(second);
	fixture_add(&fx, w);
	fold(&fx);
	assert_int_equal(FIXTURE_SQL(&fx, "SELECT count(*) FROM fence_state WHERE topic_id <> ?1", fx.topic_id), 0);
	assert_int_equal(
		FIXTURE_SQL(&fx, "SELECT count(*) FROM key_history JOIN topic USING (topic_id) WHERE run_id = ?1", 1),
		0);
	fixture_close(&fx);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_worlds),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The fold against a naive model: random small histories and fences, and for every key the same answers worked out the
 * slow way, record by record from the description of the world. Seeds are fixed; a failure names its own.
 */
#include "analyzer/fold.h"

#include "index_fixture.h"

enum { WORLDS = 400, KEYS = 14, TEXT = 4096 };

/*
 * --- a random world --------------------------------------------------------------------------------------------------
 */

struct random {
	uint64_t state;
};

static uint64_t next(struct random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* [0, n) */
static int64_t below(struct random *r, int64_t n)
{
	return (int64_t)(next(r) % (uint64_t)n);
}

static const char *const key_names[KEYS] = {
	"", "a", "b", "user-1", "user-2", "user-3", "k4", "k5", "k6", "k7", "k8", "k9", "long-key-that-goes-on", "z"
};

static const char *word(struct random *r, const char *const *words, int64_t n)
{
	return words[below(r, n)];
}

#define WORD(r, ...) \
	word(r, (const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

/* Most records go home under one of the counts, some anywhere; times mostly rise. */
static void random_record(struct random *r, struct world_topic *t, const int32_t *counts, int64_t now)
{
	const char *key = below(r, 20) ? key_names[below(r, KEYS)] : NULL;
	int32_t home = key ? home_of(key, counts[below(r, 2)]) : 0;
	int32_t partition = below(r, 12) ? home : (int32_t)below(r, t->partitions);
	struct world_record *record = world_put_in(t, partition, key, now + below(r, 30));

	record->tombstone = below(r, 6) == 0;
	record->has_number = !record->tombstone && below(r, 15);
	record->number = record->has_number ? below(r, 100) - 50 : 0;
	record->aborted = below(r, 12) == 0 && strcmp(t->fact.role, "source") == 0;
	if (below(r, 10) == 0)
		t->part[partition].next += 1 + below(r, 3);
}

static void random_parts(struct random *r, struct world_topic *t)
{
	for (int32_t p = 0; p < t->partitions; p++) {
		struct world_part *part = &t->part[p];
		int64_t span = part->next - part->first;

		part->committed = below(r, 8) ? part->first + below(r, span + 1) : UNKNOWN;
		if (below(r, 2))
			part->committed = part->next;
		part->uncovered = below(r, 15) == 0;
		part->from = below(r, 5) ? UNKNOWN : part->first + below(r, span + 1);
		part->high_watermark = part->next + below(r, 4);
	}
}

static void random_fence(struct random *r, struct world *w, const char *key)
{
	struct world_topic *t = &w->topic[0];
	const struct world_record *record = &t->record[below(r, (int64_t)t->records)];

	if (below(r, 8) == 0) {
		world_absent(w, key);
		return;
	}
	for (int tries = 0; tries < 40 && !(record->key && strcmp(record->key, key) == 0); tries++)
		record = &t->record[below(r, (int64_t)t->records)];
	world_set(w, key, record->partition, record->offset + (below(r, 10) ? 0 : below(r, 5)));
	if (below(r, 20) == 0)
		world_set(w, key, below(r, t->partitions + 2), below(r, 60));
}

static void random_dlq(struct random *r, struct world *w)
{
	const struct world_topic *t = &w->topic[0];
	struct world_topic *dlq = world_add_topic(w, "orders-dlq", DLQ, 1);

	for (int i = 0; i < 6; i++) {
		const struct world_record *from = &t->record[below(r, (int64_t)t->records)];
		struct world_record *record = world_put_in(dlq, 0, from->key, 5000 + i);

		record->source_topic = below(r, 6) ? "orders" : "other";
		record->source_partition = from->partition;
		record->source_offset = from->offset;
	}
	if (below(r, 3) == 0)
		dlq->part[0].uncovered = true;
}

/* counts[0] is the present partition count, counts[1] an earlier one, perhaps the same. */
static struct world *random_world(struct random *r, int32_t *counts)
{
	struct world *w = world_new();
	struct world_topic *t = &w->topic[0];

	counts[0] = (int32_t)(1 + below(r, 6));
	counts[1] = (int32_t)(1 + below(r, counts[0]));
	t->partitions = t->fact.partitions = t->fact.partitions_at_start = counts[0];
	w->before[0] = counts[1];
	w->pipeline.tombstones = WORD(r, "apply", "ignore", "delete");
	w->pipeline.state = WORD(r, "opaque", "last", "count", "sum");
	w->pipeline.rejects = WORD(r, "none", "dlq");
	for (int32_t p = 0; p < counts[0]; p++)
		t->part[p].first = t->part[p].next = t->part[p].log_start = below(r, 3) ? 0 : below(r, 20);
	for (int64_t i = 0, n = 20 + below(r, 150); i < n; i++)
		random_record(r, t, counts, i * 10);
	random_parts(r, t);
	for (int i = 0; i < KEYS; i++)
		if (below(r, 12))
			random_fence(r, w, key_names[i]);
	if (strcmp(w->pipeline.rejects, "dlq") == 0)
		random_dlq(r, w);
	return w;
}

/*
 * --- the naive model -------------------------------------------------------------------------------------------------
 */

struct model {
	const struct world *w;
	const struct world_topic *t;
	const int32_t *counts;
	bool deletes, ignores, dlq, dlq_whole;
};

static struct model model_of(const struct world *w, const int32_t *counts)
{
	struct model m = { .w = w, .t = &w->topic[0], .counts = counts };

	m.deletes = strcmp(w->pipeline.tombstones, "delete") == 0;
	m.ignores = strcmp(w->pipeline.tombstones, "ignore") == 0;
	m.dlq = strcmp(w->pipeline.rejects, "dlq") == 0;
	m.dlq_whole = m.dlq && !w->topic[1].part[0].uncovered;
	return m;
}

static bool is_key(const struct world_record *r, const char *key)
{
	return r->key && strcmp(r->key, key) == 0;
}

/* 1: home; 2: home under the earlier count alone; 0: neither. */
static int legal(const struct model *m, const char *key, int64_t partition)
{
	if (home_of(key, m->counts[0]) == partition)
		return 1;
	return home_of(key, m->counts[1]) == partition ? 2 : 0;
}

static bool rejected(const struct model *m, const struct world_record *r)
{
	for (size_t i = 0; m->dlq && i < m->w->topic[1].records; i++) {
		const struct world_record *d = &m->w->topic[1].record[i];

		if (strcmp(d->source_topic, "orders") == 0 && d->source_partition == r->partition &&
		    d->source_offset == r->offset)
			return true;
	}
	return false;
}

static struct horizon horizon_of(const struct model *m, int32_t partition)
{
	const struct world_part *part = &m->t->part[partition];
	int64_t start = part->from != UNKNOWN && part->from > part->first ? part->from : part->first;

	if (part->committed == UNKNOWN || fixture_records_in(m->t, partition) == 0)
		return (struct horizon){ 0, 0 };
	return (struct horizon){ start, part->committed };
}

/* A record that moves the fence. */
static bool moves(const struct model *m, const struct world_record *r)
{
	return !r->aborted && legal(m, r->key, r->partition) && !rejected(m, r) &&
	       !(r->tombstone && (m->deletes || m->ignores));
}

static bool deleting(const struct model *m, const struct world_record *r)
{
	return !r->aborted && legal(m, r->key, r->partition) && !rejected(m, r) && r->tombstone && m->deletes;
}

/* The lines grow by words; UNKNOWN is "-". */
static void say(char *line, int64_t value)
{
	size_t at = strlen(line);

	if (value == UNKNOWN)
		snprintf(line + at, TEXT - at, " -");
	else
		snprintf(line + at, TEXT - at, " %lld", (long long)value);
}

static void say_word(char *line, const char *text)
{
	size_t at = strlen(line);

	snprintf(line + at, TEXT - at, " %s", text ? text : "-");
}

struct fence_here {
	int64_t partition, offset; /* UNKNOWN: none */
};

static struct fence_here fence_of(const struct model *m, const char *key)
{
	struct world_fence *f = world_fence_of((struct world *)(uintptr_t)m->w, key);

	if (!f || !f->fact.present)
		return (struct fence_here){ UNKNOWN, UNKNOWN };
	return (struct fence_here){ f->fact.partition, f->fact.offset };
}

static int64_t count_changes(const struct model *m, const char *key)
{
	int64_t ms[WORLD_PARTITIONS], changes = 0;
	int32_t at = -1;
	bool taken[WORLD_RECORDS] = { false };

	/* Repeatedly the earliest record left, by time made to rise within its partition. */
	for (;;) {
		size_t best = SIZE_MAX;
		int64_t best_ms = 0;

		for (int32_t p = 0; p < WORLD_PARTITIONS; p++)
			ms[p] = INT64_MIN;
		for (size_t i = 0; i < m->t->records; i++) {
			const struct world_record *r = &m->t->record[i];

			if (!is_key(r, key) || !(moves(m, r) || deleting(m, r)))
				continue;
			if (r->ms > ms[r->partition])
				ms[r->partition] = r->ms;
			if (taken[i])
				continue;
			if (best == SIZE_MAX || ms[r->partition] < best_ms ||
			    (ms[r->partition] == best_ms && (r->offset < m->t->record[best].offset ||
							     (r->offset == m->t->record[best].offset &&
							      r->partition < m->t->record[best].partition)))) {
				best = i;
				best_ms = ms[r->partition];
			}
		}
		if (best == SIZE_MAX)
			return changes;
		taken[best] = true;
		if (deleting(m, &m->t->record[best])) {
			at = -1;
		} else {
			changes += at >= 0 && at != m->t->record[best].partition;
			at = m->t->record[best].partition;
		}
	}
}

static void say_whole(const struct model *m, const char *key, char *line)
{
	int64_t records = 0, newest = UNKNOWN, partitions = 0, unproven = UNKNOWN, elsewhere = 0;
	bool in[WORLD_PARTITIONS] = { false };
	int64_t last[WORLD_PARTITIONS];

	for (size_t i = 0; i < m->t->records; i++) {
		const struct world_record *r = &m->t->record[i];

		if (!is_key(r, key) || r->aborted)
			continue;
		records++;
		if (!legal(m, key, r->partition))
			continue;
		partitions += !in[r->partition];
		in[r->partition] = true;
		last[r->partition] = r->ms;
	}
	for (int32_t p = 0; p < WORLD_PARTITIONS; p++)
		if (in[p] && last[p] > newest)
			newest = last[p];
	for (int i = 1; i >= 0; i--) {
		int32_t p = home_of(key, m->counts[i]);
		bool has = fixture_records_in(m->t, p) > 0 && m->t->part[p].committed != UNKNOWN, any = false;

		for (size_t j = 0; j < m->t->records; j++)
			any |= is_key(&m->t->record[j], key) && !m->t->record[j].aborted &&
			       m->t->record[j].partition == p;
		if (m->t->part[p].uncovered || (!has && any))
			unproven = p;
	}
	for (size_t i = 0; i < m->t->records && records == 0; i++)
		elsewhere |= is_key(&m->t->record[i], key) && m->t->record[i].aborted;
	say(line, home_of(key, m->counts[0]));
	say(line, records);
	say(line, partitions);
	say(line, count_changes(m, key));
	say(line, newest);
	say(line, unproven);
	say(line, elsewhere);
}

static const char *at_fence(const struct model *m, const char *key, struct fence_here f,
			    const struct world_record **met)
{
	const struct world_part *part;

	*met = NULL;
	if (f.offset == UNKNOWN)
		return NULL;
	for (size_t i = 0; i < m->t->records; i++)
		if (m->t->record[i].partition == f.partition && m->t->record[i].offset == f.offset)
			*met = &m->t->record[i];
	if (*met && (*met)->aborted)
		return is_key(*met, key) ? "aborted" : "aborted-other";
	if (*met)
		return is_key(*met, key) ? "own" : "other";
	if (f.partition >= m->t->partitions || f.offset < m->t->part[f.partition].first)
		return "not-indexed";
	part = &m->t->part[f.partition];
	if (f.offset >= part->next)
		return part->uncovered ? "not-replayed" : "unstable";
	return "gap";
}

static void say_fence(const struct model *m, const char *key, char *line)
{
	struct fence_here f = fence_of(m, key);
	const struct world_record *met;
	const char *at = at_fence(m, key, f, &met);

	say(line, f.offset == UNKNOWN ? UNKNOWN : legal(m, key, f.partition));
	say_word(line, at);
	say(line, met ? met->ms : UNKNOWN);
	say(line, met ? met->tombstone && !met->aborted : UNKNOWN);
}

/* What binds in a partition. certain: whether records there are beyond doubt. */
static void say_binding(const struct model *m, const char *key, int32_t partition, bool certain, char *line)
{
	struct fence_here f = fence_of(m, key);
	int64_t offset = UNKNOWN, ms = UNKNOWN, lost = 0, first = UNKNOWN, first_ms = UNKNOWN;

	for (size_t i = 0; i < m->t->records && certain; i++) {
		const struct world_record *r = &m->t->record[i];

		if (!is_key(r, key) || r->partition != partition || !moves(m, r) ||
		    !horizon_has(horizon_of(m, partition), r->offset))
			continue;
		offset = r->offset;
		ms = r->ms;
		if (f.partition == partition && r->offset <= f.offset)
			continue;
		if (lost++ == 0) {
			first = r->offset;
			first_ms = r->ms;
		}
	}
	say(line, offset);
	say(line, ms);
	if (partition != home_of(key, m->counts[0]))
		return;
	say(line, lost);
	say(line, first);
	say(line, first_ms);
}

static int64_t newest_tombstone(const struct model *m, const char *key, int32_t partition, bool inside)
{
	int64_t offset = UNKNOWN;

	for (size_t i = 0; i < m->t->records; i++) {
		const struct world_record *r = &m->t->record[i];

		if (is_key(r, key) && r->partition == partition && deleting(m, r) &&
		    (!inside || horizon_has(horizon_of(m, partition), r->offset)))
			offset = r->offset;
	}
	return offset;
}

static void say_home(const struct model *m, const char *key, char *line)
{
	int32_t home = home_of(key, m->counts[0]);
	int64_t records = 0;

	for (size_t i = 0; i < m->t->records; i++)
		records +=
			is_key(&m->t->record[i], key) && !m->t->record[i].aborted && m->t->record[i].partition == home;
	say(line, records);
	say_binding(m, key, home, true, line);
	say(line, newest_tombstone(m, key, home, true));
	say(line, newest_tombstone(m, key, home, false));
}

static void say_older(const struct model *m, const char *key, char *line)
{
	int32_t older = home_of(key, m->counts[1]), home = home_of(key, m->counts[0]);
	struct fence_here f = fence_of(m, key);
	int64_t newest = UNKNOWN, newest_ms = UNKNOWN, lost = 0, first = UNKNOWN, first_ms = UNKNOWN;

	for (size_t i = 0; i < m->t->records && older != home; i++) {
		const struct world_record *r = &m->t->record[i];

		if (!is_key(r, key) || r->partition != older || !moves(m, r) ||
		    !horizon_has(horizon_of(m, older), r->offset))
			continue;
		newest = r->offset;
		newest_ms = r->ms;
		if ((f.partition == older && r->offset <= f.offset) || !m->dlq_whole)
			continue;
		if (lost++ == 0) {
			first = r->offset;
			first_ms = r->ms;
		}
	}
	say(line, newest == UNKNOWN ? UNKNOWN : older);
	say(line, m->dlq_whole ? newest : UNKNOWN);
	say(line, m->dlq_whole ? newest_ms : UNKNOWN);
	say(line, m->dlq_whole ? UNKNOWN : newest);
	say(line, lost);
	say(line, first);
	say(line, first_ms);
	say(line, older == home ? UNKNOWN : newest_tombstone(m, key, older, false));
}

static void say_value(const struct model *m, const char *key, char *line)
{
	struct fence_here f = fence_of(m, key);
	bool sums = strcmp(m->w->pipeline.state, "sum") == 0,
	     counts = strcmp(m->w->pipeline.state, "count") == 0 || sums;
	int64_t applied = 0, sum = 0, hash = UNKNOWN;
	const struct world_record *met;
	bool no_number = false;

	for (size_t i = 0; i < m->t->records && f.offset != UNKNOWN && f.partition < m->t->partitions; i++) {
		const struct world_record *r = &m->t->record[i];
		int64_t from = m->t->part[f.partition].from;

		if (!is_key(r, key) || r->partition != f.partition || r->offset > f.offset ||
		    (from != UNKNOWN && r->offset < from))
			continue;
		if (deleting(m, r)) {
			applied = sum = 0;
			no_number = false;
		} else if (moves(m, r)) {
			applied++;
			sum += r->number;
			no_number |= !r->has_number;
		}
	}
	at_fence(m, key, f, &met);
	if (met && strcmp(m->w->pipeline.state, "last") == 0)
		hash = met->tombstone || met->aborted ? 0 : value_hash_at(met->partition, met->offset);
	say(line, counts ? applied : UNKNOWN);
	say(line, sums && !no_number ? sum : UNKNOWN);
	say(line, hash);
}

/* What the fold must say of a key. */
static void say_key(const struct model *m, const char *key, char *line)
{
	snprintf(line, TEXT, "'%s'", key);
	say_whole(m, key, line);
	say_fence(m, key, line);
	say_home(m, key, line);
	say_older(m, key, line);
	say_value(m, key, line);
}

/*
 * --- what the fold says ----------------------------------------------------------------------------------------------
 */

static const char FENCE_STATE[] =
	"SELECT * FROM (SELECT coalesce(fence.key, unlooked_key.key), home, records, legal_partitions, rebases, "
	"newest_ms, unproven, elsewhere, fence_legal, at_fence, fence_ms, "
	"fence_tombstone, home_records, home_offset, home_ms, home_lost, home_lost_first, home_lost_first_ms, "
	"home_tombstone, home_tombstone_any, "
	"older, older_offset, older_ms, older_unsure, older_lost, older_lost_first, older_lost_first_ms, "
	"older_tombstone, applied, applied_sum, "
	"s.value_hash FROM fence_state AS s LEFT JOIN fence ON fence_id = state_id LEFT JOIN unlooked_key USING "
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
							  home_of(key_names[k], m->counts[0]) == home &&
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
		/* Sums that must agree, whatever the world. */
		assert_int_equal(FIXTURE_SQL(&fx,
					     "SELECT (SELECT total(records) FROM key_history) - (SELECT total(records) "
					     "FROM placement) WHERE ?1",
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

/*
 * --- memory ----------------------------------------------------------------------------------------------------------
 */

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

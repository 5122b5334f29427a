/*
 * fold_model: what the fold must say of a key, worked out the slow way, record by record, from the description of a world.
 */
#ifndef TESTS_UNIT_FOLD_MODEL_H
#define TESTS_UNIT_FOLD_MODEL_H

#include "fold_random.h"

enum { TEXT = 4096 };

struct model {
	const struct world *w;
	const struct world_topic *t;
	const int32_t *counts;
	bool deletes, ignores, dlq, dlq_whole;
};

static inline struct model model_of(const struct world *w, const int32_t *counts)
{
	struct model m = { .w = w, .t = &w->topic[0], .counts = counts };

	m.deletes = strcmp(w->pipeline.tombstones, "delete") == 0;
	m.ignores = strcmp(w->pipeline.tombstones, "ignore") == 0;
	m.dlq = strcmp(w->pipeline.rejects, "dlq") == 0;
	m.dlq_whole = m.dlq && !w->topic[1].part[0].uncovered;
	return m;
}

/* The home of a key by the pipeline's partitioner; -1: it has none. */
static inline int32_t model_home(const struct model *m, const char *key, int32_t count)
{
	return placed_by(m->w->pipeline.partitioner, key, count);
}

static inline bool is_key(const struct world_record *r, const char *key)
{
	return r->key && strcmp(r->key, key) == 0;
}

/* 1: home; 2: home under the earlier count alone; 0: neither. */
static inline int legal(const struct model *m, const char *key, int64_t partition)
{
	if (partition < 0)
		return 0;
	if (model_home(m, key, m->counts[0]) == partition)
		return 1;
	return model_home(m, key, m->counts[1]) == partition ? 2 : 0;
}

static inline bool rejected(const struct model *m, const struct world_record *r)
{
	for (size_t i = 0; m->dlq && i < m->w->topic[1].records; i++) {
		const struct world_record *d = &m->w->topic[1].record[i];

		if (strcmp(d->source_topic, "orders") == 0 && d->source_partition == r->partition &&
		    d->source_offset == r->offset)
			return true;
	}
	return false;
}

static inline struct horizon horizon_of(const struct model *m, int32_t partition)
{
	const struct world_part *part = &m->t->part[partition];
	int64_t start = part->from != UNKNOWN && part->from > part->first ? part->from : part->first;

	if (part->committed == UNKNOWN || fixture_records_in(m->t, partition) == 0)
		return (struct horizon){ 0, 0 };
	return (struct horizon){ start, part->committed };
}

/* A record that moves the fence. */
static inline bool moves(const struct model *m, const struct world_record *r)
{
	return !r->aborted && legal(m, r->key, r->partition) && !rejected(m, r) &&
	       !(r->tombstone && (m->deletes || m->ignores));
}

static inline bool deleting(const struct model *m, const struct world_record *r)
{
	return !r->aborted && legal(m, r->key, r->partition) && !rejected(m, r) && r->tombstone && m->deletes;
}

/* A record that was rejected, but may have been applied all the same. */
static inline bool doubtful(const struct model *m, const struct world_record *r)
{
	return !r->aborted && legal(m, r->key, r->partition) && rejected(m, r);
}

/* The lines grow by words; UNKNOWN is "-". */
static inline void say(char *line, int64_t value)
{
	size_t at = strlen(line);

	if (value == UNKNOWN)
		snprintf(line + at, TEXT - at, " -");
	else
		snprintf(line + at, TEXT - at, " %lld", (long long)value);
}

static inline void say_word(char *line, const char *text)
{
	size_t at = strlen(line);

	snprintf(line + at, TEXT - at, " %s", text ? text : "-");
}

struct fence_here {
	int64_t partition, offset; /* UNKNOWN: none */
};

static inline struct fence_here fence_of(const struct model *m, const char *key)
{
	struct world_fence *f = world_fence_of((struct world *)(uintptr_t)m->w, key);

	if (!f || !f->fact.present)
		return (struct fence_here){ UNKNOWN, UNKNOWN };
	return (struct fence_here){ f->fact.partition, f->fact.offset };
}

static inline int64_t count_changes(const struct model *m, const char *key)
{
	int64_t ms[WORLD_PARTITIONS], changes = 0;
	int32_t at = -1;
	bool taken[WORLD_RECORDS] = { false };

	assert_true(m->t->records <= WORLD_RECORDS);
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

static inline void say_whole(const struct model *m, const char *key, char *line)
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
		int32_t p = model_home(m, key, m->counts[i]);
		if (p < 0)
			continue;
		bool has = fixture_records_in(m->t, p) > 0 && m->t->part[p].committed != UNKNOWN, any = false;

		for (size_t j = 0; j < m->t->records; j++)
			any |= is_key(&m->t->record[j], key) && !m->t->record[j].aborted &&
			       m->t->record[j].partition == p;
		if (m->t->part[p].uncovered || (!has && any))
			unproven = p;
	}
	for (size_t i = 0; i < m->t->records && records == 0; i++)
		elsewhere |= is_key(&m->t->record[i], key) && m->t->record[i].aborted;
	say(line, model_home(m, key, m->counts[0]) < 0 ? UNKNOWN : model_home(m, key, m->counts[0]));
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

static inline void say_fence(const struct model *m, const char *key, char *line)
{
	struct fence_here f = fence_of(m, key);
	const struct world_record *met;
	const char *at = at_fence(m, key, f, &met);

	say(line, f.offset == UNKNOWN || model_home(m, key, m->counts[0]) < 0 ? UNKNOWN : legal(m, key, f.partition));
	say_word(line, at);
	say(line, met ? met->ms : UNKNOWN);
	say(line, met ? met->tombstone && !met->aborted : UNKNOWN);
}

/* What binds in a partition. certain: whether records there are beyond doubt. */
static inline void say_binding(const struct model *m, const char *key, int32_t partition, bool certain, char *line)
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
	if (partition != model_home(m, key, m->counts[0]))
		return;
	say(line, lost);
	say(line, first);
	say(line, first_ms);
}

static inline int64_t newest_tombstone(const struct model *m, const char *key, int32_t partition, bool inside)
{
	int64_t offset = UNKNOWN;

	for (size_t i = 0; i < m->t->records; i++) {
		const struct world_record *r = &m->t->record[i];

		if (is_key(r, key) && r->partition == partition && deleting(m, r) &&
		    (!inside || horizon_has(horizon_of(m, partition), r->offset)))
			offset = r->offset;
		if (is_key(r, key) && r->partition == partition && !inside && doubtful(m, r) && r->tombstone && m->deletes)
			offset = r->offset;
	}
	return offset;
}

static inline void say_home(const struct model *m, const char *key, char *line)
{
	int32_t home = model_home(m, key, m->counts[0]);
	int64_t records = 0;

	for (size_t i = 0; i < m->t->records; i++)
		records +=
			is_key(&m->t->record[i], key) && !m->t->record[i].aborted && m->t->record[i].partition == home;
	say(line, records);
	say_binding(m, key, home, true, line);
	say(line, newest_tombstone(m, key, home, true));
	say(line, newest_tombstone(m, key, home, false));
}

static inline void say_older(const struct model *m, const char *key, char *line)
{
	int32_t older = model_home(m, key, m->counts[1]), home = model_home(m, key, m->counts[0]);
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

static inline void say_value(const struct model *m, const char *key, char *line)
{
	struct fence_here f = fence_of(m, key);
	bool sums = strcmp(m->w->pipeline.state, "sum") == 0,
	     counts = strcmp(m->w->pipeline.state, "count") == 0 || sums;
	int64_t applied = 0, sum = 0, doubts = 0, hash = UNKNOWN;
	const struct world_record *met;
	bool no_number = false;

	for (size_t i = 0; i < m->t->records && f.offset != UNKNOWN && f.partition < m->t->partitions; i++) {
		const struct world_record *r = &m->t->record[i];
		int64_t from = m->t->part[f.partition].from;

		if (!is_key(r, key) || r->partition != f.partition || r->offset > f.offset ||
		    (from != UNKNOWN && r->offset < from))
			continue;
		if (deleting(m, r)) {
			applied = sum = doubts = 0;
			no_number = false;
		} else if (moves(m, r)) {
			applied++;
			sum += r->number;
			no_number |= !r->has_number;
		} else if (doubtful(m, r)) {
			doubts++;
		}
	}
	at_fence(m, key, f, &met);
	if (met && strcmp(m->w->pipeline.state, "last") == 0)
		hash = met->tombstone || met->aborted ? 0 : value_hash_at(met->partition, met->offset);
	say(line, counts ? applied : UNKNOWN);
	say(line, sums && !no_number ? sum : UNKNOWN);
	say(line, hash);
	say(line, counts ? doubts : UNKNOWN);
}

/* What the fold must say of a key. */
static inline void say_key(const struct model *m, const char *key, char *line)
{
	snprintf(line, TEXT, "'%s'", key);
	say_whole(m, key, line);
	say_fence(m, key, line);
	say_home(m, key, line);
	say_older(m, key, line);
	say_value(m, key, line);
}

#endif

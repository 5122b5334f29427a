/*
 * rebase: most keys of a resized topic left one partition before they began in the next: their places say enough. The
 * others need their records in order, which are read again, as many keys at a time as fit the budget.
 */
#include "analyzer/rebase.h"

#include <stdlib.h>

#include "analyzer/event.h"
#include "analyzer/fold_state.h"

#include "sql/keyhash.h"
#include "sql/mem.h"

enum { EVENTS_LEAST = 65536 };

/* Keys to read again: indices of entries, [from, to) of them in this round. */
struct round {
	uint32_t *entry;
	size_t count, from, to;
	uint8_t *here;           /* per entry: 1 when in this round */
};

static uint32_t legal_places(const struct fold *f, const struct key_entry *entry)
{
	uint32_t n = 0;

	for (uint32_t i = entry->places; i != NOBODY; i = keytable_place(&f->table, i)->next)
		n += keytable_place(&f->table, i)->legal >= 0;
	return n;
}

/* Whether some of its records are no longer legal. */
static bool has_stale(const struct fold *f, const struct key_place *place)
{
	const struct fold_partition *part = fold_topic_part(f->topic, place->partition);

	return place->legal > 0 && part && place->last_offset >= part->stale_from[place->legal];
}

static bool apart(const struct key_place *a, const struct key_place *b)
{
	return !a->fell && !b->fell && (a->last_ms < b->first_ms || b->last_ms < a->first_ms);
}

/* Whether no two legal places of the key overlap in time, and all of their records count. */
static bool all_apart(const struct fold *f, const struct key_entry *entry)
{
	for (uint32_t i = entry->places; i != NOBODY; i = keytable_place(&f->table, i)->next) {
		const struct key_place *a = keytable_place(&f->table, i);

		if (has_stale(f, a))
			return false;
		for (uint32_t j = a->next; j != NOBODY; j = keytable_place(&f->table, j)->next) {
			const struct key_place *b = keytable_place(&f->table, j);

			if (a->legal >= 0 && b->legal >= 0 && !apart(a, b))
				return false;
		}
	}
	return true;
}

static void round_add(struct round *round, uint32_t entry)
{
	if (round->count % POOL_BLOCK == 0)
		round->entry = xgrow(round->entry, round->count + POOL_BLOCK, sizeof(*round->entry));
	round->entry[round->count++] = entry;
}

static void add_step(struct fold *f, const struct event *event, enum verdict verdict)
{
	struct rebase_step *last = f->steps.count ? pool_at(&f->steps, f->steps.count - 1) : NULL, *step;
	bool same = last && last->entry == event->entry;

	f->steps_of_key = same ? f->steps_of_key : 0;
	if (same && last->partition == event->partition && last->offset == event->offset)
		return;
	if (f->steps.count == REBASE_STEPS || f->steps_of_key == REBASE_STEPS_KEY)
		return;
	f->steps_of_key++;
	step = pool_add(&f->steps);
	*step = (struct rebase_step){ event->entry, event->partition, event->offset, event->ms, (uint8_t)verdict };
}

static int by_first_time(const void *a, const void *b)
{
	const struct key_place *const *x = a, *const *y = b;

	return ((*x)->first_ms > (*y)->first_ms) - ((*x)->first_ms < (*y)->first_ms);
}

/* The changes of a key whose legal places are apart in time. */
static void judge_apart(struct fold *f, uint32_t index, uint32_t legal)
{
	struct key_entry *entry = keytable_entry(&f->table, index);
	const struct key_place **places = xarray(legal, sizeof(*places));
	size_t n = 0;

	entry->rebases = legal - 1;
	for (uint32_t i = entry->places; i != NOBODY; i = keytable_place(&f->table, i)->next)
		if (keytable_place(&f->table, i)->legal >= 0)
			places[n++] = keytable_place(&f->table, i);
	qsort(places, n, sizeof(*places), by_first_time);
	for (size_t i = 1; i < n; i++) {
		const struct key_place *from = places[i - 1], *to = places[i];
		bool alone = i > 1 && from->records == 1; /* the record that came last made the change before */

		add_step(f, &(struct event){ index, from->partition, from->last_ms, from->last_offset, EVENT_APPLIED },
			 alone ? VERDICT_REBASE : VERDICT_APPLY);
		add_step(f, &(struct event){ index, to->partition, to->first_ms, to->first_offset, EVENT_APPLIED },
			 VERDICT_REBASE);
	}
	free(places);
}

/* Settles what places alone can tell, and lists the rest. */
static void judge_places(struct fold *f, struct round *round)
{
	bool plain = !f->topic->delete_tombstones && !f->topic->ignore_tombstones && !f->rejected.count;

	for (size_t i = 0; i < f->table.entries.count; i++) {
		uint32_t legal = legal_places(f, keytable_entry(&f->table, (uint32_t)i));

		if (legal < 2)
			continue;
		if (plain && all_apart(f, keytable_entry(&f->table, (uint32_t)i)))
			judge_apart(f, (uint32_t)i, legal);
		else
			round_add(round, (uint32_t)i);
	}
}

static void take_part(struct fold *f, const struct round *round, struct events *events, const struct chunk_part *part)
{
	const struct chunk_view *view = part->view;

	for (size_t i = part->from; i < part->to; i++) {
		struct key key = { .bytes = view->key_bytes + view->key_at[i],
				   .size = view->key_at[i + 1] - view->key_at[i] };
		bool tombstone = view->flags[i] & RECORD_TOMBSTONE;
		const struct key_place *place;
		uint32_t entry;

		if (view->flags[i] & RECORD_NULL_KEY)
			continue;
		key.hash = key_hash(key.bytes, key.size);
		entry = keytable_find(&f->table, &key, NULL);
		if (entry == NOBODY || !round->here[entry] || (tombstone && f->topic->ignore_tombstones))
			continue;
		place = keytable_place_in(&f->table, keytable_entry(&f->table, entry), f->part->partition);
		if (!place || place->legal < 0 || view->offset[i] >= f->part->stale_from[place->legal] ||
		    rejected_next(&f->rejected_here, view->offset[i]))
			continue;
		events_add(events, &(struct event){ entry, f->part->partition, view->timestamp_ms[i], view->offset[i],
						   tombstone && f->topic->delete_tombstones ? EVENT_DELETE
											    : EVENT_APPLIED });
	}
}

/* Counts the changes of each key, and keeps the records around them. */
static void judge_events(struct fold *f, struct events *events)
{
	struct event_fence fence = { 0 };
	enum verdict before = VERDICT_APPLY;

	events_order(events);
	for (size_t i = 0; i < events->count; i++) {
		const struct event *event = &events->at[i];
		enum verdict verdict;

		if (i == 0 || event[-1].entry != event->entry)
			fence.there = false;
		verdict = event_next(&fence, event);
		if (verdict == VERDICT_REBASE) {
			keytable_entry(&f->table, event->entry)->rebases++;
			add_step(f, &event[-1], before);
			add_step(f, event, verdict);
		}
		before = verdict;
	}
}

static int read_round(struct fold *f, const struct round *round, struct events *events, struct trouble *t)
{
	struct chunk_part part;
	int more = 0;

	for (size_t i = 0; i < f->topic->part_n && more == 0; i++) {
		f->part = &f->topic->parts[i];
		f->rejected_here = rejected_in(&f->rejected, f->part->partition);
		if (f->part->indexed_end == UNKNOWN)
			continue;
		chunk_scan_range(f->scan,
				 (struct chunk_place){ f->topic->incarnation_id, f->part->partition, CHUNK_COMMITTED },
				 0, f->part->indexed_end);
		while ((more = chunk_scan_next(f->scan, &part, t)) > 0) {
			if (run_stopped(f->run))
				return trouble_set(t, "stopped");
			take_part(f, round, events, &part);
		}
	}
	return more;
}

/* As many keys as their records fit; at least one. */
static void next_round(const struct fold *f, struct round *round, size_t events_most)
{
	size_t events = 0;

	for (size_t i = round->from; i < round->to; i++)
		round->here[round->entry[i]] = 0;
	round->from = round->to;
	while (round->to < round->count) {
		const struct key_entry *entry = keytable_entry(&f->table, round->entry[round->to]);

		for (uint32_t i = entry->places; i != NOBODY; i = keytable_place(&f->table, i)->next)
			events += (size_t)keytable_place(&f->table, i)->records;
		if (events > events_most && round->to > round->from)
			break;
		round->here[round->entry[round->to++]] = 1;
	}
}

int rebase_count(struct fold *f, struct trouble *t)
{
	size_t events_most = f->budget / 4 / sizeof(struct event);
	struct round round = { .here = xarray(f->table.entries.count, 1) };
	struct events events = { 0 };
	int result = 0;

	judge_places(f, &round);
	if (events_most < EVENTS_LEAST)
		events_most = EVENTS_LEAST;
	for (next_round(f, &round, events_most); result == 0 && round.from < round.to;
	     next_round(f, &round, events_most)) {
		events.count = 0;
		result = read_round(f, &round, &events, t);
		if (result == 0)
			judge_events(f, &events);
	}
	events_release(&events);
	free(round.entry);
	free(round.here);
	return result;
}

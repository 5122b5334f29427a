/*
 * rebase: how often the records of a key changed between its legal partitions, which is how often the contract says
 * REBASE. Within a partition the order is that of offsets; between partitions it is that of times, made to rise within
 * each; equal times go by offset, then by partition.
 *
 * Most keys of a resized topic left one partition before they began in the next: their places say enough. The others
 * need their records in order, which are read again, as many keys at a time as fit the budget.
 */
#include "analyzer/fold_state.h"

#include <stdlib.h>

#include "sql/keyhash.h"
#include "sql/mem.h"

enum { EVENTS_LEAST = 65536 };

struct event {
	uint32_t entry;
	int32_t partition;
	int64_t ms, offset;
	bool tombstone;          /* tombstones = delete: the fence is gone */
};

struct events {
	struct event *at;
	size_t count, room;
};

/* Keys to read again: indices of entries, [from, to) of them in this round. */
struct round {
	uint32_t *entry;
	size_t count, from, to;
	uint8_t *here;           /* per entry: 1 when in this round */
};

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->entry != y->entry)
		return x->entry < y->entry ? -1 : 1;
	if (x->ms != y->ms)
		return x->ms < y->ms ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->partition > y->partition) - (x->partition < y->partition);
}

static uint32_t legal_places(const struct fold *f, const struct key_entry *entry)
{
	uint32_t n = 0;

	for (uint32_t i = entry->places; i != NOBODY; i = keytable_place(&f->table, i)->next)
		n += keytable_place(&f->table, i)->legal >= 0;
	return n;
}

static bool apart(const struct key_place *a, const struct key_place *b)
{
	return !a->fell && !b->fell && (a->last_ms < b->first_ms || b->last_ms < a->first_ms);
}

/* Whether no two legal places of the key overlap in time. */
static bool all_apart(const struct fold *f, const struct key_entry *entry)
{
	for (uint32_t i = entry->places; i != NOBODY; i = keytable_place(&f->table, i)->next) {
		const struct key_place *a = keytable_place(&f->table, i);

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

/* Settles what places alone can tell, and lists the rest. */
static void judge_places(struct fold *f, struct round *round)
{
	bool plain = !f->topic->delete_tombstones && !f->topic->ignore_tombstones && !f->rejected.count;

	for (size_t i = 0; i < f->table.entries.count; i++) {
		struct key_entry *entry = keytable_entry(&f->table, (uint32_t)i);
		uint32_t legal = legal_places(f, entry);

		if (legal < 2)
			continue;
		if (plain && all_apart(f, entry))
			entry->rebases = legal - 1;
		else
			round_add(round, (uint32_t)i);
	}
}

static void event_add(struct events *events, const struct event *event)
{
	if (events->count == events->room) {
		events->room = events->room ? events->room * 2 : EVENTS_LEAST;
		events->at = xgrow(events->at, events->room, sizeof(*events->at));
	}
	events->at[events->count++] = *event;
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
		if (!place || place->legal < 0 || rejected_next(&f->rejected_here, view->offset[i]))
			continue;
		event_add(events, &(struct event){ entry, f->part->partition, view->timestamp_ms[i], view->offset[i],
						   tombstone && f->topic->delete_tombstones });
	}
}

/*
 * Times rise within each partition: an event is as late as the latest before it. Events come partition by partition, in
 * offset order.
 */
static int compare_entries(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->entry != y->entry)
		return x->entry < y->entry ? -1 : 1;
	if (x->partition != y->partition)
		return x->partition < y->partition ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void make_times_rise(struct events *events)
{
	qsort(events->at, events->count, sizeof(*events->at), compare_entries);
	for (size_t i = 1; i < events->count; i++) {
		const struct event *before = &events->at[i - 1];
		struct event *event = &events->at[i];

		if (before->entry == event->entry && before->partition == event->partition && before->ms > event->ms)
			event->ms = before->ms;
	}
}

static void judge_events(struct fold *f, struct events *events)
{
	uint32_t entry = NOBODY;
	int32_t fence = -1;

	make_times_rise(events);
	qsort(events->at, events->count, sizeof(*events->at), by_time);
	for (size_t i = 0; i < events->count; i++) {
		const struct event *event = &events->at[i];

		if (event->entry != entry)
			fence = -1;
		entry = event->entry;
		if (fence >= 0 && !event->tombstone && fence != event->partition)
			keytable_entry(&f->table, entry)->rebases++;
		fence = event->tombstone ? -1 : event->partition;
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
	free(events.at);
	free(round.entry);
	free(round.here);
	return result;
}

/*
 * fold_stream: one partition's records, in order, into the key table and the placement. This is where the time goes:
 * each key is hashed once, and memory is asked for a few records ahead of its use.
 */
#include "analyzer/fold_item.h"

#include "sql/faultpoint.h"
#include "sql/keyhash.h"
#include "sql/placer.h"

enum { AHEAD_SLOT = 36, AHEAD_PLACE = 24, AHEAD_KEY = 12 }; /* records */

void fold_hash_part(struct fold *f, const struct chunk_part *part)
{
	const struct chunk_view *view = part->view;
	const struct placer *placer = &f->topic->placer;
	bool plain = placer_is_plain(placer);

	for (size_t i = part->from; i < part->to; i++) {
		const uint8_t *key = view->key_bytes + view->key_at[i];
		size_t size = view->key_at[i + 1] - view->key_at[i];

		f->hash[i] = key_hash(key, size);
		if (plain)
			f->dividend[i] = murmur2(key, size) & 0x7fffffff;
		else
			f->homeless[i] = !placer_dividend(placer, key, size, &f->dividend[i]);
	}
}

static bool filter_has(const struct fold *f, int64_t hash)
{
	size_t bit = (size_t)hash & (f->filter_bits - 1);

	return f->filter[bit / 64] >> (bit % 64) & 1;
}

/* Whether a key counts as recent by the time of this record; those that were looked at are in the table already. */
static bool is_recent(const struct fold *f, const struct item *item)
{
	return item->view->timestamp_ms[item->i] >= f->topic->recent_from_ms &&
	       item->key.hash < f->topic->recent_threshold;
}

/* The place of a key that is met for the first time in this partition, or NOBODY where it is not sampled. */
static uint32_t new_place(struct fold *f, const struct item *item)
{
	uint32_t entry = NOBODY, index;
	bool same_hash = false;
	bool sampled = item->key.hash < f->topic->threshold || is_recent(f, item);

	if (sampled || filter_has(f, item->key.hash))
		entry = keytable_find(&f->table, &item->key, &same_hash);
	if (entry == NOBODY && sampled) {
		entry = keytable_add(&f->table, &item->key);
	} else if (entry == NOBODY && !same_hash) {
		return NOBODY;
	}
	index = keytable_add_place(&f->table, entry, &item->key, f->part->partition);
	keytable_place(&f->table, index)->legal = item->legal == LEGAL_STALE ? -1 : (int16_t)item->ordinal;
	f->too_many = !f->topic->fenced && f->table.entries.count > UNFENCED_KEYS;
	f->too_large = FAULT(FOLD_FULL) || f->too_many || keytable_bytes(&f->table) > f->budget;
	return index;
}

/* The place of the record's key, or NOBODY; then *unsampled is its slot, where it had one. */
static uint32_t find_place(struct fold *f, const struct item *item, struct seen_slot **unsampled)
{
	struct seen_slot *slot = seen_first(&f->seen, item->key.hash);
	struct seen_slot new;

	*unsampled = NULL;
	for (; slot->mark; slot = seen_next(&f->seen, slot)) {
		if (slot->hash != item->key.hash)
			continue;
		if (!seen_is_sampled(slot)) {
			uint32_t place = is_recent(f, item) ? new_place(f, item) : NOBODY;

			take_slot(f, slot, item);
			if (place != NOBODY)
				slot->place = place;
			else
				*unsampled = slot;
			return place;
		}
		if (place_is(keytable_place(&f->table, slot->place), item->key.bytes, item->key.size)) {
			take_slot(f, slot, item);
			return slot->place;
		}
	}
	new = (struct seen_slot){ .hash = item->key.hash, .place = new_place(f, item),
				  .mark = (uint32_t)cell_of(f, item) + 1 };
	if (new.place != NOBODY || seen_counts(&f->seen, new.hash))
		seen_fill(&f->seen, slot, &new);
	return new.place;
}

/* state = count, sum: the records that the stored number is made of. */
static void apply(struct fold *f, const struct key_place *place, const struct item *item)
{
	const struct chunk_view *view = item->view;
	struct key_entry *entry = keytable_entry(&f->table, place->entry);
	struct key_value *value = keytable_value(&f->table, place->entry);

	value->applied++;
	if (!f->topic->sums)
		return;
	if (!view->number || !(view->flags[item->i] & RECORD_NUMBER) ||
	    __builtin_add_overflow(value->sum, view->number[item->i], &value->sum))
		entry->no_number = true;
}

static void begin_anew(struct fold *f, const struct key_place *place)
{
	keytable_entry(&f->table, place->entry)->no_number = false;
	*keytable_value(&f->table, place->entry) = (struct key_value){ 0 };
}

static void bind(const struct fold_partition *part, struct key_place *place, const struct item *item)
{
	int64_t offset = item->view->offset[item->i];

	if (!horizon_has(part->horizon, offset))
		return;
	if (offset >= part->certain[place->legal]) {
		place->tombstone_or_unsure = offset;
		return;
	}
	place->binding_offset = offset;
	place->binding_ms = item->view->timestamp_ms[item->i];
	if (offset <= place->fence_offset || place->lost++ > 0)
		return;
	place->lost_offset = offset;
	place->lost_ms = place->binding_ms;
}

/* Whether a record in a legal partition is among those that the stored number is made of. */
static bool is_counted(const struct fold *f, const struct key_place *place, const struct item *item)
{
	int64_t offset = item->view->offset[item->i];

	return (f->topic->counts || f->topic->sums) && offset <= place->fence_offset && offset >= f->part->from;
}

/*
 * A record that the DLQ names. It binds nothing, but it may have been applied all the same: by a worker that was
 * repaired after a crash, or because the DLQ means a record of an earlier topic.
 */
static void take_rejected(struct fold *f, struct key_place *place, const struct item *item)
{
	f->refused++;
	if (f->topic->delete_tombstones && (item->view->flags[item->i] & RECORD_TOMBSTONE))
		place->tombstone_any = item->view->offset[item->i];
	if (is_counted(f, place, item))
		keytable_value(&f->table, place->entry)->rejected++;
}

/* A record that the contract applies, or a tombstone, in a legal partition. */
static void take_legal(struct fold *f, struct key_place *place, const struct item *item)
{
	int64_t offset = item->view->offset[item->i];
	bool tombstone = item->view->flags[item->i] & RECORD_TOMBSTONE;
	bool counted = is_counted(f, place, item);

	if (tombstone && f->topic->delete_tombstones) {
		place->tombstone_any = offset;
		if (place->legal == 0 && horizon_has(f->part->horizon, offset))
			place->tombstone_or_unsure = offset;
		if (counted)
			begin_anew(f, place);
		f->accepted++;
		return;
	}
	if (tombstone && f->topic->ignore_tombstones) {
		f->ignored++;
		return;
	}
	f->accepted++;
	if (counted)
		apply(f, place, item);
	bind(f->part, place, item);
}

static void take_sampled(struct fold *f, struct key_place *place, const struct item *item)
{
	int64_t offset = item->view->offset[item->i], ms = item->view->timestamp_ms[item->i];

	if (place->entry == NOBODY)
		return;
	if (place->records++ == 0) {
		place->first_offset = offset;
		place->first_ms = place->last_ms = ms;
	}
	place->fell |= ms < place->last_ms;
	place->last_offset = offset;
	place->last_ms = ms;
	if (place->legal < 0 || item->legal == LEGAL_STALE)
		f->refused++;
	else if (f->rejected_here.at < f->rejected_here.end && rejected_next(&f->rejected_here, offset))
		take_rejected(f, place, item);
	else
		take_legal(f, place, item);
}

static void count_off_home(struct partition_count *count, const struct item *item)
{
	int64_t offset = item->view->offset[item->i], ms = item->view->timestamp_ms[item->i];

	if (count->off_home++ == 0) {
		count->off_home_first = offset;
		count->off_home_first_ms = ms;
	}
	count->off_home_last = offset;
	count->off_home_last_ms = ms;
	count->legal_between = count->legal;
}

/* A record off home. The table of such keys is told where it had the key, by its place or by its slot. */
static void take_off_home(struct fold *f, const struct item *item, uint32_t place, struct seen_slot *slot)
{
	struct offhome_record record = { f->part->partition, (int32_t)item->home, item->legal == LEGAL_STALE,
					 item->view->offset[item->i], item->view->timestamp_ms[item->i] };

	if (place != NOBODY) {
		uint32_t *at = &keytable_place(&f->table, place)->offhome;

		*at = offhome_add(&f->offhome, &item->key, &record, *at);
	} else {
		uint32_t at = slot && slot->place != NOBODY ? slot->place & ~SEEN_HINT : 0;

		at = offhome_add(&f->offhome, &item->key, &record, at);
		if (slot)
			slot->place = at ? SEEN_HINT | at : NOBODY;
	}
}

static void take(struct fold *f, const struct item *item)
{
	struct seen_slot *slot;
	uint32_t place = find_place(f, item, &slot);

	f->placement.records[cell_of(f, item)]++;
	if (place != NOBODY)
		take_sampled(f, keytable_place(&f->table, place), item);
	if (item->homeless) {
		f->count.homeless++;
		return;
	}
	if (!f->placement.cells)
		return;
	if (item->legal == LEGAL_NOT)
		count_off_home(&f->count, item);
	else if (f->count.off_home)
		f->count.legal++;
	if (item->legal == LEGAL_NOT || item->legal == LEGAL_STALE)
		take_off_home(f, item, place, slot);
}

/* The place that a record's slot most likely holds, or NULL. */
static inline const struct key_place *likely_place(const struct fold *f, int64_t hash)
{
	const struct seen_slot *slot = seen_first(&f->seen, hash);

	return slot->mark && slot->hash == hash && seen_is_sampled(slot) ? keytable_place(&f->table, slot->place)
									 : NULL;
}

/* What the slot of a key off home that is not sampled names. */
static inline void prefetch_off_home(const struct fold *f, int64_t hash)
{
	const struct seen_slot *slot = seen_first(&f->seen, hash);

	if (slot->hash == hash && !seen_is_sampled(slot) && slot->place != NOBODY)
		offhome_prefetch(&f->offhome, slot->place & ~SEEN_HINT);
}

/*
 * Asks for what the records ahead will touch, each step for what the step before it brought: the slot; then the place
 * that it names, or, for a key that is new here, where the table has its entry; then the bytes of the key, or the
 * entry.
 */
static inline void prefetch(const struct fold *f, size_t i, size_t to)
{
	if (i + AHEAD_SLOT < to)
		__builtin_prefetch(seen_first(&f->seen, f->hash[i + AHEAD_SLOT]));
	if (i + AHEAD_PLACE < to) {
		int64_t hash = f->hash[i + AHEAD_PLACE];
		const struct key_place *place = likely_place(f, hash);

		if (place) {
			__builtin_prefetch(place);
			__builtin_prefetch((const char *)place + 64);
		} else if (hash < f->topic->threshold) {
			__builtin_prefetch(keytable_slot(&f->table, hash));
		} else {
			prefetch_off_home(f, hash);
		}
	}
	if (i + AHEAD_KEY < to) {
		int64_t hash = f->hash[i + AHEAD_KEY];
		const struct key_place *place = likely_place(f, hash);

		if (place) {
			__builtin_prefetch(place->key);
			offhome_prefetch(&f->offhome, place->offhome);
		} else if (hash < f->topic->threshold && *keytable_slot(&f->table, hash)) {
			__builtin_prefetch(keytable_entry(&f->table, *keytable_slot(&f->table, hash) - 1));
		}
	}
}

static void take_part(struct fold *f, const struct chunk_part *part)
{
	const struct chunk_view *view = part->view;

	fold_hash_part(f, part);
	for (size_t i = part->from; i < part->to && !f->too_large; i++) {
		struct item item = { .view = view, .i = i };

		prefetch(f, i, part->to);
		if (view->flags[i] & RECORD_NULL_KEY) {
			if (view->flags[i] & RECORD_NO_PART)
				f->count.homeless++;
			else
				f->count.null_keys++;
			continue;
		}
		item.key = (struct key){ f->hash[i], view->key_bytes + view->key_at[i],
					 view->key_at[i + 1] - view->key_at[i] };
		if (hot_takes(view->offset[i]))
			hot_add(&f->hot, item.key.hash);
		place_item(f, &item);
		take(f, &item);
		f->keyed++;
		f->too_large |= f->seen.full;
	}
}

/* Index of the first record of the part at or above an offset. */
static size_t lower_bound(const struct chunk_part *part, int64_t offset)
{
	size_t low = part->from, high = part->to;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (part->view->offset[middle] < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A commit that was set back leaves what an earlier run saw committed. */
static int64_t processed(const struct fold_partition *part)
{
	return part->has_horizon && part->horizon.end > part->committed ? part->horizon.end : part->committed;
}

/* Records below the log start that nobody had committed past. */
static void count_expired(struct fold *f, const struct chunk_part *part)
{
	size_t from, to;

	if (f->part->committed == UNKNOWN || f->part->log_start == UNKNOWN)
		return;
	from = lower_bound(part, processed(f->part));
	to = lower_bound(part, f->part->log_start);
	if (from >= to)
		return;
	if (f->count.expired == 0) {
		f->count.expired_first = part->view->offset[from];
		f->count.expired_first_ms = part->view->timestamp_ms[from];
	}
	f->count.expired += (int64_t)(to - from);
	f->count.expired_last = part->view->offset[to - 1];
	f->count.expired_last_ms = part->view->timestamp_ms[to - 1];
}

static void count_holes(struct fold *f, const struct chunk_part *part)
{
	const int64_t *offset = part->view->offset;
	int64_t span = offset[part->to - 1] + 1 - f->count.next;

	if (f->topic->suspect_holes && span != (int64_t)(part->to - part->from)) {
		int64_t next = f->count.next;

		for (size_t i = part->from; i < part->to; i++) {
			if (offset[i] != next)
				f->count.hole_end = offset[i];
			next = offset[i] + 1;
		}
	}
	f->count.next = offset[part->to - 1] + 1;
}

static void count_part(struct fold *f, const struct chunk_part *part)
{
	size_t waiting;

	f->count.records += (int64_t)(part->to - part->from);
	count_expired(f, part);
	count_holes(f, part);
	if (f->part->committed == UNKNOWN || f->count.waiting_ms != UNKNOWN)
		return;
	waiting = lower_bound(part, f->part->committed);
	if (waiting < part->to)
		f->count.waiting_ms = part->view->timestamp_ms[waiting];
}

static void begin_partition(struct fold *f)
{
	f->count = (struct partition_count){ .waiting_ms = UNKNOWN,
					     .next = f->part->first_offset,
					     .hole_end = f->part->gap_end };
	f->rejected_here = rejected_in(&f->rejected, f->part->partition);
	seen_begin(&f->seen, 0);
	hot_begin(&f->hot);
	for (size_t i = 0; i <= f->placement.cells; i++)
		f->placement.records[i] = f->placement.keys[i] = 0;
}

int fold_stream(struct fold *f, struct trouble *t)
{
	struct chunk_place place = { f->topic->incarnation_id, f->part->partition, CHUNK_COMMITTED };
	struct fence_refs refs = fence_refs_in(&f->refs, f->part->partition);
	struct chunk_part part;
	int more;

	begin_partition(f);
	if (f->part->indexed_end == UNKNOWN || f->part->first_offset == UNKNOWN)
		return 0;
	chunk_scan_range(f->scan, place, 0, f->part->indexed_end);
	while ((more = chunk_scan_next(f->scan, &part, t)) > 0) {
		if (run_stopped(f->run))
			return trouble_set(t, "stopped");
		if (FAULT(FOLD_STREAM))
			return trouble_set(t, "partition %d cannot be read", f->part->partition);
		take_part(f, &part);
		if (f->too_large)
			return 0;
		count_part(f, &part);
		fence_at_part(f, &refs, &part);
		f->done += (int64_t)(part.to - part.from);
		run_progress(f->run, "fold", "records", f->done, f->total);
	}
	if (f->topic->suspect_holes && f->count.next < f->part->indexed_end)
		f->count.hole_end = f->part->indexed_end;
	return more;
}
